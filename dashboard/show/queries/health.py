"""What the page Health asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.observation import GasSource, Operation
from dashboard.show.queries.alerts import COUNTED
from dashboard.show.queries.cache import Fresh
from dashboard.show.queries.coverage_gaps import gaps_until
from dashboard.show.queries.credits import Spending, spending
from dashboard.show.queries.network_status import NetworkCard
from dashboard.show.queries.source import Source
from dashboard.show.queries.watcher_health import Health, NetworkHealth, Question, is_space_low
from dashboard.store.alerts.alert_status import open_incidents
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.leases import holders
from dashboard.store.health import (
    exclusion_answered_at,
    mail_state,
    receipts_answered_at,
    store_state,
)
from dashboard.store.monitoring.table_sizes import room
from dashboard.store.monitoring.upstream_failures import StandingFailure
from dashboard.store.observations import LatestGas, latest_gas

MOST_GAPS: Final = 20
"""Gaps that are listed."""

GAPS_SHOWN_FOR: Final = timedelta(days=30)

_SHARED_FOR: Final = timedelta(seconds=2)


class HealthQuestions:
    """Every answer may raise StoreError; what all viewers share is kept for a moment."""

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source
        self._health: Fresh[Health] = Fresh(_SHARED_FOR, source.now)
        self._space: Fresh[int | None] = Fresh(_SHARED_FOR, source.now)

    def health(self) -> Health:
        """Return how every part of the installation fares."""
        return self._health.get((), self._read)

    def low_space(self) -> int | None:
        """Return the bytes that are free on the disk of the store, where they are too few."""
        return self._space.get((), self._read_space)

    def _read_space(self) -> int | None:
        with self._source.store.read() as connection:
            free = room(connection).on_disk
        return free if is_space_low(free, self._source.low_space) else None

    def _read(self) -> Health:
        now, networks = self._source.now(), self._source.networks
        with self._source.store.read() as connection:
            spent = spending(connection, now)
            return Health(
                tuple(
                    replace(
                        _network(connection, card, now),
                        spending=spent.get(card.network_id, Spending()),
                    )
                    for card in networks
                ),
                holders(connection),
                mail_state(connection, now - COUNTED),
                store_state(connection, now),
                gaps_until(
                    connection,
                    [card.network_id for card in networks],
                    now,
                    now - GAPS_SHOWN_FOR,
                    MOST_GAPS,
                ),
                open_incidents(connection),
                self._source.low_space,
            )


def _network(connection: Connection, card: NetworkCard, now: datetime) -> NetworkHealth:
    latest = latest_gas(connection, card.network_id, now)
    failures = {failure.operation: failure for failure in latest.failures}
    answered = [*(_gas_questions(card, latest) if card.has_gas else ())]
    if card.has_exclusion:
        asked = exclusion_answered_at(connection, card.network_id)
        answered.append(Question(Operation.EXCLUSION_STATUS, asked, None))
    followed = receipts_answered_at(connection, card.network_id)
    if followed is not None:
        answered.append(Question(Operation.TRANSACTION_RECEIPT, followed, None))
    return NetworkHealth(card, tuple(_with_failures(answered, failures)))


def _gas_questions(card: NetworkCard, latest: LatestGas) -> Iterator[Question]:
    usual, threshold = latest.base_fee_percentile, latest.busy_threshold
    for operation, dated, period in (
        (Operation.SUGGESTED_GAS_FEES, latest.suggested_gas_fees, card.gas_period),
        (Operation.BUSY_THRESHOLD, threshold, card.threshold_period),
        (Operation.BASE_FEE_PERCENTILE, usual, card.threshold_period),
        (Operation.BASE_FEE_HISTORY, latest.base_fee_history, card.history_period),
    ):
        answered_at = None if dated is None else dated.asked_at
        is_instead = dated is not None and dated.source is GasSource.NODE_INSTEAD
        yield Question(operation, answered_at, period, is_told_by_node=is_instead)


def _with_failures(
    questions: list[Question], failures: dict[Operation, StandingFailure]
) -> Iterator[Question]:
    """Put each failure to its question; one that nobody expected makes a question of its own."""
    for question in questions:
        failure = failures.pop(question.operation, None)
        yield replace(question, failure=failure)
    for operation, failure in failures.items():
        yield Question(operation, None, None, failure)
