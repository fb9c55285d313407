"""A store with something old in it, of which housekeeping forgets."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import count as count_up

from sqlalchemy import func, select

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.fees.gas import GasObservation, RollupLevel
from dashboard.domain.quantity import Wei
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_sent
from dashboard.store.alerts.notifications import notification_id_of
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.batching import LONGEST_STEP, AdaptiveBatches
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.maintenance.purge import apply_retention
from dashboard.store.schema import metadata
from tests.builders import (
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_report,
    a_transition,
    suggested_gas_fees,
)
from tests.one_by_one import save_report, versions
from tests.routes import expand_alone

OPERATOR = Recipient("mail", "ops@example.org")


def forget(store: Store, rows: int = 100, **before: datetime) -> dict[str, int]:
    """Forget all that is older, in steps of so many rows; return how many of each kind."""
    forgotten: Counter[str] = Counter()
    ticks = (number * LONGEST_STEP / 2 for number in count_up())
    for step in apply_retention(store, before, AdaptiveBatches(lambda: next(ticks), rows)):
        assert step.rows <= rows
        forgotten[step.kind] += step.rows
    return dict(+forgotten)


def rows_of(store: Store, table: str) -> int:
    """Count the rows of a table."""
    with store.read() as connection:
        return connection.scalars(select(func.count()).select_from(metadata.tables[table])).one()


def see_fees(store: Store, *moments: datetime) -> None:
    """Save what a poll of both networks saw at these times."""
    with store.write() as connection:
        for at in moments:
            for network_id in (A_NETWORK, ANOTHER_NETWORK):
                observation = GasObservation(
                    network_id, at, suggested_gas_fees(), busy_threshold=Wei(4)
                )
                save_gas(connection, observation, None)


def reject(store: Store, number: int, at: datetime, *, is_told: bool = True) -> int:
    """Keep a rejection of which somebody is owed a mail; it is handed over if it `is_told`."""
    with store.write() as connection:
        save_report(connection, a_report(tx_hash=a_hash(number)), A_NETWORK, at)
        [stored] = versions(connection, a_hash(number))
        transition = a_transition(number, at=at)
        record_transition(connection, transition, stored.rejection_id)
        hand_over(connection, at, is_told=is_told)
    return stored.rejection_id


def hand_over(connection: Connection, at: datetime, *, is_told: bool = True) -> None:
    """Make notifications of what is in the outbox, and mark them as sent if they are told."""
    for entry in pending_expansion(connection, 100):
        expand_alone(connection, entry, [OPERATOR], at)
        notification_id = notification_id_of(entry.transition.transition_id, OPERATOR)
        if is_told:
            mark_sent(connection, notification_id, "250", at)


def a_roll_up(level: RollupLevel, begins_at: int) -> dict[str, object]:
    """Return a row of a fee that was seen once."""
    numbers = ("lowest", "highest", "total", "median", "p90", "last", "longest_gap", "estimated")
    times = {"begins_at": begins_at, "first_at": begins_at, "last_at": begins_at}
    place = {"network_id": A_NETWORK, "series": 1, "level": level}
    return place | times | dict.fromkeys(numbers, 0) | {"seen": 1, "histogram": b""}


def on_record(store: Store, *numbers: int) -> list[int]:
    """Return those hashes of which a rejection is on record."""
    with store.read() as connection:
        return [number for number in numbers if versions(connection, a_hash(number))]
