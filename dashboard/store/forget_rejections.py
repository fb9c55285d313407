"""Rejections are forgotten with what rests on them alone, once nobody is owed news of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, exists, or_, select, update

from dashboard.store.engine import Store
from dashboard.store.forget_notices import IS_OPEN
from dashboard.store.pace import Pace
from dashboard.store.schema import (
    conditions,
    notices,
    outbox,
    rejections,
    signed_transactions,
    transitions,
)
from dashboard.store.tally_keeping import count_out
from dashboard.store.transactions import tracked_among
from dashboard.store.walking import PORTION, beyond


def forget_rejections(store: Store, before: datetime, pace: Pace) -> Iterator[int]:
    """Forget versions that arrived before, and were seen last before.

    What is tracked keeps its versions, of all networks, and so does what somebody is still to be
    told. With a version goes the condition that it holds, and with the last of a hash the signed
    transaction; notices about it stay, without what it said.
    """
    after: Row[Any] | None = None
    while found := _old(store, before, after):
        after = found[-1]
        yield from pace.in_steps(store, found, partial(_forget, before=before))


def _old(store: Store, before: datetime, after: Row[Any] | None) -> Sequence[Any]:
    column = rejections.c
    order = (column.first_seen_at, column.rejection_id)
    query = (
        select(*order, column.tx_hash, column.network_id)
        .where(column.first_seen_at < before, _is_seen_no_more(before))
        .where(*beyond(order, None if after is None else tuple(after)[:2]))
        .order_by(*order)
        .limit(PORTION)
    )
    with store.read() as connection:
        return connection.execute(query).all()


def _is_seen_no_more(before: datetime) -> ColumnElement[bool]:
    column = rejections.c.seen_again_at
    return or_(column.is_(None), column < before)


def _forget(connection: Connection, found: Sequence[Any], before: datetime) -> int:
    """Forget those that are still free to go: since they were found, time has passed."""
    tracked = tracked_among(connection, [row.tx_hash for row in found])
    ids = {row.rejection_id for row in found if row.tx_hash not in tracked}
    column = rejections.c.rejection_id
    still = select(column).where(column.in_(ids), _is_seen_no_more(before))
    ids = set(connection.scalars(still))
    ids -= _still_to_be_told(connection, ids)
    if not ids:
        return 0
    hashes = {row.tx_hash for row in found if row.rejection_id in ids}
    count_out(connection, sorted(ids))
    connection.execute(delete(conditions).where(conditions.c.rejection_id.in_(ids)))
    told = update(transitions).where(transitions.c.rejection_id.in_(ids))
    connection.execute(told.values(rejection_id=None))
    connection.execute(delete(rejections).where(rejections.c.rejection_id.in_(ids)))
    has_others = exists().where(rejections.c.tx_hash == signed_transactions.c.tx_hash)
    signed = delete(signed_transactions).where(signed_transactions.c.tx_hash.in_(hashes))
    connection.execute(signed.where(~has_others))
    return len(ids)


def _still_to_be_told(connection: Connection, ids: set[int]) -> set[int]:
    """Return those of which a notice is owed, or is to be made yet."""
    column = transitions.c
    about = select(column.rejection_id).where(column.rejection_id.in_(ids))
    unexpanded = about.join(outbox, outbox.c.transition_id == column.transition_id).where(
        outbox.c.expanded_at.is_(None)
    )
    owed = about.join(notices, notices.c.transition_id == column.transition_id).where(IS_OPEN)
    return {*connection.scalars(unexpanded), *connection.scalars(owed)}
