"""What pages read from the store, in one transaction each, turned into their own values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

import numpy as np

from dashboard.detect.gas import (
    FLAT_FOR,
    PRIORITY_WINDOW,
    FeeReadings,
    PriorityReadings,
    weigh_fees,
)
from dashboard.domain.condition import Subject, SubjectKind
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.fee_percentiles import RankedFees
from dashboard.domain.fee_rollup import FeeSeries
from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.grounds import FeeGrounds
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import TxHash
from dashboard.domain.verdict import Evidence, conclude
from dashboard.show.charts.fee_story import BusyCounts, FeeStory, longest_usual_silence
from dashboard.show.queries.network_status import Datum, NetworkCard, NetworkFigures
from dashboard.show.queries.transaction_summary import Dossier, Finding
from dashboard.store.alerts.conditions import held as held_condition
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.portions import portions
from dashboard.store.evidence.lookup_results import evidence_among
from dashboard.store.fees.rollup_arrays import Integers
from dashboard.store.fees.series import Between, fee_mark_steps, fee_steps
from dashboard.store.fees.stored_fees import priority_fee_window
from dashboard.store.observations import Dated, base_fees, latest_gas
from dashboard.store.rejections.versions import versions_among
from dashboard.store.tracking.transactions import tracked_among

T = TypeVar("T")

_RECENT: Final = FLAT_FOR


def network_figures(connection: Connection, card: NetworkCard, now: datetime) -> NetworkFigures:
    """Read the latest figures of a network and the hour of base fees that led to them."""
    latest = latest_gas(connection, card.network_id, now)
    if not card.has_gas:
        return NetworkFigures(card, failures=latest.failures)
    fees = latest.suggested_gas_fees
    last = now if fees is None else fees.asked_at  # a flat fee stays one when it is old
    recent = base_fees(connection, card.network_id, last - _RECENT, last)
    figures = NetworkFigures(
        card,
        base_fee_percentile=_datum(latest.base_fee_percentile, card.threshold_period),
        busy_threshold=_datum(latest.busy_threshold, card.threshold_period),
        recent=tuple((point.at, point.base_fee) for point in recent),
        failures=latest.failures,
        busyness=held_condition(connection, Subject(SubjectKind.BUSYNESS, card.network_id)),
    )
    if fees is None:
        return figures
    return replace(
        figures,
        base_fee=Datum(fees.value.estimated_base_fee, fees.asked_at, card.gas_period),
        network_congestion=Datum(fees.value.network_congestion, fees.asked_at, card.gas_period),
        gas_source=fees.source,
        priority=_priority(connection, figures, fees),
    )


def _priority(
    connection: Connection, figures: NetworkFigures, fees: Dated[SuggestedGasFees]
) -> FeeGrounds | None:
    """Weigh the medium priority fee, where the base fee never moves and enough are stored."""
    if not figures.has_flat_fee:
        return None
    network_id, until = figures.card.network_id, fees.asked_at
    stored = priority_fee_window(connection, network_id, until - PRIORITY_WINDOW, until)
    medium = fees.value.medium.suggested_max_priority_fee_per_gas
    window = RankedFees(base_fee for _, base_fee in figures.recent)
    readings = FeeReadings(fees.value.estimated_base_fee, None, window)
    return weigh_fees(readings, PriorityReadings(medium, stored))


def fee_story(
    connection: Connection, figures: NetworkFigures, kind: FeeSeries, between: Between
) -> FeeStory | None:
    """Read what a fee of a network did, None where none was seen.

    Busy time is counted by the base fee: where that never moves, it is not counted.
    """
    card = figures.card
    steps = fee_steps(connection, card.network_id, kind, between)
    if not len(steps):
        return None
    busy = None
    if figures.priority is None:
        counted = fee_steps(connection, card.network_id, FeeSeries.IS_BUSY, between)
        busy = BusyCounts.of(steps, counted)
    usual, threshold = _levels(connection, figures, between, steps.first_at)
    silence = longest_usual_silence(steps, card.gas_period)
    return FeeStory(
        steps,
        usual,
        threshold,
        max(silence, between.step),
        silence,
        between.since,
        between.until,
        card.value_time,
        busy,
    )


def _levels(
    connection: Connection, figures: NetworkFigures, between: Between, moments: Integers
) -> tuple[Integers | None, Integers | None]:
    """Return the usual and the busy level at moments; of a priority fee, the level of now."""
    if figures.priority is not None:
        return None, np.full_like(moments, figures.priority.threshold)
    usual, threshold = (
        fee_mark_steps(connection, figures.card.network_id, operation, between).at(moments)
        for operation in (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)
    )
    return usual, threshold


def dossiers(
    connection: Connection, cards: Sequence[NetworkCard], hashes: Sequence[TxHash]
) -> list[Dossier]:
    """Read all that is known of hashes: a finding for each network that can be asked about them.

    A network that can be asked no longer still tells what it once did.
    """
    found = []
    for some in portions(hashes):
        held, stored = evidence_among(connection, some), versions_among(connection, some)
        watched = tracked_among(connection, some)
        found += [
            Dossier(each, tuple(_findings(cards, each, held[each], stored[each])), each in watched)
            for each in some
        ]
    return found


def _findings(
    cards: Sequence[NetworkCard],
    tx_hash: TxHash,
    held: Sequence[Evidence],
    stored: Sequence[StoredRejection],
) -> Iterator[Finding]:
    by_network = {each.network_id: each for each in held}
    for card in cards:
        if card.has_exclusion or card.network_id in by_network:
            known = by_network.get(card.network_id, Evidence(card.network_id, tx_hash))
            of_network = tuple(each for each in stored if each.network_id == card.network_id)
            yield Finding(card, known, conclude(known), of_network)


def _datum(dated: Dated[T] | None, period: timedelta) -> Datum[T] | None:
    return None if dated is None else Datum(dated.value, dated.asked_at, period)
