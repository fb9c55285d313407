"""Retention: what is purged when, kind by kind, each with what belongs to no other row.

Old rows are found by an index while others write, and deleted in transactions so short that no
other writer waits long. Each of these checks again whether a row may be deleted, since time has
passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Row, delete, exists, func, or_, select, update

from dashboard.domain.alerts.condition import SubjectKind
from dashboard.domain.alerts.notification import NotificationState
from dashboard.store.engine.batching import PORTION, AdaptiveBatches, after_row
from dashboard.store.engine.driver import placeholders, read_rows, write_rows
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.old_rows import (
    ANSWERS,
    AUDIT_LOG,
    FOLLOW_UPS,
    POLL_GROUPS,
    STATEMENTS,
    USES_OF_KEYS,
    OldRows,
    Rows,
    fee_series,
    rows_by_time,
)
from dashboard.store.rejections.counts import count_deleted
from dashboard.store.rejections.save import watched_among
from dashboard.store.schema import (
    answer_counts,
    budget_spending,
    conditions,
    coverage_gaps,
    credit_ledger,
    deliveries,
    estimated_base_fees,
    fee_percentiles,
    fee_rollups,
    incident_events,
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    rejections,
    saved_lookups,
    suggested_gas_fees,
    transitions,
)
from dashboard.store.schema.columns import milliseconds_of

OPEN_STATES: Final = (NotificationState.PENDING.value, NotificationState.HELD.value)
"""States in which a notification may still be sent: pending, or held after a restore for a person.
"""


def _old_changes(connection: Connection, before: datetime, after: Row[Any] | None) -> Rows:
    """Return changes in the order of the outbox, which is nearly that of time."""
    seen = func.coalesce(rejections.c.seen_again_at, rejections.c.first_seen_at).label("seen")
    query = (
        select(
            outbox.c.outbox_id,
            *transitions.c["transition_id", "kind", "network_id", "tx_hash", "at", "opening_id"],
            seen,
        )
        .select_from(outbox)
        .join(transitions, transitions.c.transition_id == outbox.c.transition_id)
        .outerjoin(rejections, rejections.c.rejection_id == transitions.c.rejection_id)
        .where(outbox.c.outbox_id > (0 if after is None else after.outbox_id))
        .where(outbox.c.expanded_at.is_not(None))
        .order_by(outbox.c.outbox_id)
        .limit(PORTION)
    )
    return [row for row in connection.execute(query) if row.at < before]


def _purge_changes(connection: Connection, found: Rows, before: datetime) -> int:
    """Delete changes from before, with their notifications and every attempt to deliver them.

    An ongoing condition keeps its changes, and so does a transaction that is tracked or was seen
    rejected since, lest it be notified again. What is pending stays, however old.
    """
    ids = {row.transition_id for row in found if row.seen is None or row.seen < before}
    ids -= _of_tracked(connection, found)
    ids -= _of_lasting(connection, found)
    ids -= _pending(connection, ids)
    if not ids:
        return 0
    _delete_notifications(connection, ids)
    touched = _leave_incidents(connection, ids)
    connection.execute(delete(outbox).where(outbox.c.transition_id.in_(ids)))
    connection.execute(delete(transitions).where(transitions.c.transition_id.in_(ids)))
    _delete_incidents(connection, touched)
    return len(ids)


def _pending(connection: Connection, ids: Collection[UUID]) -> set[UUID]:
    """Return those changes whose notifications may still be sent."""
    member = notification_members.c
    query = (
        select(member.transition_id)
        .join(notifications, notifications.c.notification_id == member.notification_id)
        .where(member.transition_id.in_(ids), notifications.c.state.in_(OPEN_STATES))
    )
    first = select(notifications.c.transition_id).where(
        notifications.c.transition_id.in_(ids), notifications.c.state.in_(OPEN_STATES)
    )
    return {*connection.scalars(query), *connection.scalars(first)}


def _delete_notifications(connection: Connection, ids: Collection[UUID]) -> None:
    """Remove changes from their notifications, and notifications that report no other change."""
    member = notification_members.c
    first = notifications.c.transition_id.in_(ids)
    begun = set(connection.scalars(select(notifications.c.notification_id).where(first)))
    connection.execute(delete(notification_members).where(member.transition_id.in_(ids)))
    remaining = select(member.notification_id, member.transition_id)
    of_begun = remaining.where(member.notification_id.in_(begun)).order_by(member.position.desc())
    kept = {row.notification_id: row.transition_id for row in connection.execute(of_begun)}
    for notification_id, transition_id in kept.items():
        mine = notifications.c.notification_id == notification_id
        connection.execute(update(notifications).where(mine).values(transition_id=transition_id))
    gone = begun - kept.keys()
    for table in (deliveries, notification_incidents, notifications):
        connection.execute(delete(table).where(table.c.notification_id.in_(gone)))


def _leave_incidents(connection: Connection, ids: Collection[UUID]) -> set[UUID]:
    """Take changes out of their incidents; return the incidents."""
    column = incident_transitions.c
    mine = column.transition_id.in_(ids)
    touched = set(connection.scalars(select(column.incident_id).where(mine).distinct()))
    connection.execute(delete(incident_transitions).where(mine))
    return touched


def _delete_incidents(connection: Connection, ids: Collection[UUID]) -> None:
    """Delete the resolved incidents that have neither a change nor a notification left."""
    column = incidents.c
    over = select(column.incident_id).where(
        column.incident_id.in_(ids),
        column.open_key.is_(None),
        *(
            ~exists().where(table.c.incident_id == column.incident_id)
            for table in (incident_transitions, notification_members, notification_incidents)
        ),
    )
    gone = connection.scalars(over).all()
    for table in (incident_events, incidents):
        connection.execute(delete(table).where(table.c.incident_id.in_(gone)))


def _of_tracked(connection: Connection, found: Rows) -> set[UUID]:
    places = {row.transition_id: (row.tx_hash, row.network_id) for row in found if row.tx_hash}
    tracked = set(watched_among(connection, places.values()))
    return {transition_id for transition_id, place in places.items() if place in tracked}


def _of_lasting(connection: Connection, found: Rows) -> set[UUID]:
    """Return the changes of ongoing conditions of a network; a rejection never ends."""
    of_networks = [row for row in found if row.kind != SubjectKind.TRANSACTION]
    column = conditions.c.opening_id
    openings = {row.opening_id for row in of_networks if row.opening_id is not None}
    lasting = set(connection.scalars(select(column).where(column.in_(openings))))
    return {row.transition_id for row in of_networks if row.opening_id in lasting}


_FREE: Final = """
SELECT rejection_id, tx_hash FROM rejections
WHERE rejection_id IN {} AND (seen_again_at IS NULL OR seen_again_at < ?)
AND NOT EXISTS (SELECT 1 FROM tracked_hashes WHERE tx_hash = rejections.tx_hash)
AND NOT EXISTS (
    SELECT 1 FROM transitions JOIN outbox USING (transition_id)
    WHERE rejection_id = rejections.rejection_id AND expanded_at IS NULL)
AND NOT EXISTS (
    SELECT 1 FROM transitions JOIN notification_members USING (transition_id)
    JOIN notifications USING (notification_id)
    WHERE rejection_id = rejections.rejection_id AND state IN {})
"""
"""Rejections that are not seen any more, not tracked, and have no notification pending or held."""

_DELETE_REFERRING: Final = (
    "DELETE FROM conditions WHERE rejection_id IN {}",
    "UPDATE transitions SET rejection_id = NULL WHERE rejection_id IN {}",
    "DELETE FROM rejections WHERE rejection_id IN {}",
)
_DELETE_SIGNED: Final = (
    "DELETE FROM signed_transactions WHERE tx_hash IN {} AND NOT EXISTS "
    "(SELECT 1 FROM rejections WHERE tx_hash = signed_transactions.tx_hash)"
)


def _old_rejections(connection: Connection, before: datetime, after: Row[Any] | None) -> Rows:
    column = rejections.c
    order = (column.first_seen_at, column.rejection_id)
    is_not_seen_since = or_(column.seen_again_at.is_(None), column.seen_again_at < before)
    query = (
        select(*order)
        .where(column.first_seen_at < before, is_not_seen_since)
        .where(*after_row(order, after))
        .order_by(*order)
        .limit(PORTION)
    )
    return connection.execute(query).all()


def _purge_rejections(connection: Connection, found: Rows, before: datetime) -> int:
    """Delete versions that arrived and were last seen before a moment.

    A tracked hash, or one with a pending notification, keeps its versions on all networks. A
    version's condition is deleted with it, and with the last version of a hash its signed
    transaction; notifications about it stay, without the record.
    """
    ids = [row.rejection_id for row in found]
    values = [*ids, milliseconds_of(before), *OPEN_STATES]
    free = read_rows(connection, _FREE.format(placeholders(ids), placeholders(OPEN_STATES)), values)
    if not free:
        return 0
    ids = [rejection_id for rejection_id, _ in free]
    hashes = [tx_hash for _, tx_hash in free]
    count_deleted(connection, ids)
    for statement in _DELETE_REFERRING:
        write_rows(connection, statement.format(placeholders(ids)), [tuple(ids)])
    write_rows(connection, _DELETE_SIGNED.format(placeholders(hashes)), [tuple(hashes)])
    return len(ids)


class _Purge(NamedTuple):
    """A kind as the log names it, the field of `Retention` with its age, and its rows."""

    kind: str
    age: str
    rows: OldRows


PURGES: Final = (
    _Purge("fees", "fees", fee_series(suggested_gas_fees)),
    _Purge("fees", "fees", fee_series(estimated_base_fees)),
    _Purge("fees", "fees", fee_series(fee_percentiles)),
    _Purge("fee minutes", "fee_minutes", fee_series(fee_rollups)),
    _Purge("notifications", "notifications", OldRows(_old_changes, _purge_changes)),
    _Purge("rejections", "rejections", OldRows(_old_rejections, _purge_rejections)),
    _Purge("answers", "untracked_answers", ANSWERS),
    _Purge("answers", "untracked_answers", STATEMENTS),
    _Purge("answers", "untracked_answers", POLL_GROUPS),
    _Purge("saved look-ups", "saved_lookups", rows_by_time(saved_lookups.c.asked_at)),
    _Purge("follow-ups", "untracked_answers", FOLLOW_UPS),
    _Purge("uses of keys", "untracked_answers", USES_OF_KEYS),
    _Purge("audit log", "audit_log", AUDIT_LOG),
    _Purge("credits", "credits", rows_by_time(credit_ledger.c.hour)),
    _Purge("credits", "credits", rows_by_time(budget_spending.c.begins_at)),
    _Purge("answers of sources", "answer_counts", rows_by_time(answer_counts.c.quarter)),
    _Purge(
        "coverage gaps",
        "coverage_gaps",
        rows_by_time(coverage_gaps.c.begins_at, coverage_gaps.c.ends_at),
    ),
)


class PurgeBatch(NamedTuple):
    """What one transaction deleted, and for how many seconds nobody else could write."""

    kind: str
    rows: int
    took: float


Check: TypeAlias = Callable[[Connection], None]
"""Raises if a transaction must not go on."""


def allow(_connection: Connection) -> None:
    """Allow every transaction."""


def apply_retention(
    store: Store,
    before: Mapping[str, datetime],
    pace: AdaptiveBatches | None = None,
    check: Check = allow,
) -> Iterator[PurgeBatch]:
    """Delete data past its retention, one transaction for each batch, which is checked first.

    `before` is what `Retention.before` returns. No transaction is open between two batches: the
    caller pauses as long as others need.
    """
    batches = AdaptiveBatches() if pace is None else pace
    for purge in PURGES:
        moment = before.get(purge.age)
        if moment is not None:
            own = batches.restarted()
            for rows in _batches(store, purge.rows, moment, own, check):
                yield PurgeBatch(purge.kind, rows, own.took)


def _batches(
    store: Store, rows: OldRows, before: datetime, pace: AdaptiveBatches, check: Check
) -> Iterator[int]:
    def delete_some(connection: Connection, some: Sequence[Any]) -> int:
        check(connection)
        return rows.delete(connection, some, before)

    after = None
    while True:
        with store.read() as connection:
            found = rows.find(connection, before, after)
        if not found:
            return
        after = found[-1]
        yield from pace.in_batches(store, found, delete_some)
