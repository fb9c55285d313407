"""Purge what networks and nodes answered about hashes that nobody tracks any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, Table, and_, bindparam, delete, select

from dashboard.store.engine.batching import PORTION, AdaptiveBatches, after_row
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.save import watched_among
from dashboard.store.schema import (
    api_key_credentials,
    api_key_uses,
    checks,
    follow_ups,
    rejections,
)

_USES_STAY: Final = timedelta(days=400)
"""How long the counts of a key stay that stands neither in the store nor, it seems, in settings."""


def purge_untracked_lookups(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete answers about hashes that nobody tracks, and that nobody looked up since."""
    return _purge(store, checks, before, pace, lambda _, found: found)


def purge_follow_ups(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete likewise what nodes answered, except about hashes with a rejection record."""
    return _purge(store, follow_ups, before, pace, _without_rejection)


def purge_key_uses(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete the counts of keys that are gone: not in the store, and not used for a year."""
    known = select(api_key_credentials.c.key_digest)
    column = api_key_uses.c
    gone = and_(column.last_used_at < before - _USES_STAY, column.key_digest.not_in(known))
    with pace.writing(store) as connection:
        deleted = connection.execute(delete(api_key_uses).where(gone)).rowcount
    yield deleted


def _purge(
    store: Store,
    table: Table,
    before: datetime,
    pace: AdaptiveBatches,
    choose: Callable[[Connection, Sequence[Row[Any]]], Sequence[Row[Any]]],
) -> Iterator[int]:
    """Walk along the hashes; `choose` says in the writing transaction which may go."""
    place: tuple[Any, ...] | None = None
    of_row = delete(table).where(
        table.c.tx_hash == bindparam("one"),
        table.c.network_id == bindparam("other"),
        table.c.last_asked_at < before,
    )

    def purge(connection: Connection, some: Sequence[Row[Any]]) -> int:
        tracked = set(watched_among(connection, [tuple(row) for row in some]))
        free = [row for row in some if tuple(row) not in tracked]
        gone = [{"one": row.tx_hash, "other": row.network_id} for row in choose(connection, free)]
        if gone:
            connection.execute(of_row, gone)
        return len(gone)

    while found := _old(store, table, before, place):
        place = tuple(found[-1])
        yield from pace.in_batches(store, found, purge)


def _old(
    store: Store, table: Table, before: datetime, after: Sequence[Any] | None
) -> Sequence[Row[Any]]:
    order = tuple(table.c["tx_hash", "network_id"])
    query = (
        select(*order)
        .where(table.c.last_asked_at < before, *after_row(order, after))
        .order_by(*order)
        .limit(PORTION)
    )
    with store.read() as connection:
        return connection.execute(query).all()


def _without_rejection(connection: Connection, found: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
    column = rejections.c.tx_hash
    rejected = set(
        connection.scalars(select(column).where(column.in_({row.tx_hash for row in found})))
    )
    return [row for row in found if row.tx_hash not in rejected]
