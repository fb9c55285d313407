"""Purge old rejections, and what belongs to no other row, once no notification is pending."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, or_, select

from dashboard.store.engine.batching import PORTION, after_row
from dashboard.store.engine.driver import placeholders, read_rows, write_rows
from dashboard.store.rejections.counters import count_deleted
from dashboard.store.retention.old_rows import OldRows, Rows
from dashboard.store.retention.purge_notifications import OPEN_STATES
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import milliseconds_of

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
"""Those that are not seen again, nor tracked, and have no notification pending or held."""

_DELETE_REFERRING: Final = (
    "DELETE FROM conditions WHERE rejection_id IN {}",
    "UPDATE transitions SET rejection_id = NULL WHERE rejection_id IN {}",
    "DELETE FROM rejections WHERE rejection_id IN {}",
)
_DELETE_SIGNED: Final = (
    "DELETE FROM signed_transactions WHERE tx_hash IN {} AND NOT EXISTS "
    "(SELECT 1 FROM rejections WHERE tx_hash = signed_transactions.tx_hash)"
)


def _old(connection: Connection, before: datetime, after: Row[Any] | None) -> Rows:
    column = rejections.c
    order = (column.first_seen_at, column.rejection_id)
    query = (
        select(*order)
        .where(column.first_seen_at < before, _was_last_seen_before(before))
        .where(*after_row(order, after))
        .order_by(*order)
        .limit(PORTION)
    )
    return connection.execute(query).all()


def _was_last_seen_before(before: datetime) -> ColumnElement[bool]:
    column = rejections.c.seen_again_at
    return or_(column.is_(None), column < before)


def _purge(connection: Connection, found: Rows, before: datetime) -> int:
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


REJECTIONS: Final = OldRows(_old, _purge)
