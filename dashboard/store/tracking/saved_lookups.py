"""Look-ups of many transactions, saved so that a link to them can be passed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, case, delete, func, select

from dashboard.domain.quantity import TxHash
from dashboard.store.engine.batching import AdaptiveBatches, portions
from dashboard.store.engine.engine import Store
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import saved_lookups

LARGEST_TOTAL: Final = 500_000_000
"""Bytes of all saved look-ups: some 1,500 of 10,000 transactions."""

_ID: Final = re.compile(r"[0-9a-f]{32}")
"""What `save_lookup` returns; PostgreSQL refuses some other texts, as a store that is down."""

_LEAST: Final = 4_096
"""Bytes as which a small one counts, so that their number is bounded too."""


def save_lookup(
    connection: Connection, hashes: Sequence[TxHash], now: datetime, most: int = LARGEST_TOTAL
) -> str:
    """Save the hashes in their order; return their id, which is the same for the same hashes.

    Beyond `most` bytes in all, those that were looked up longest ago are deleted.
    """
    octets = b"".join(hashes)
    lookup_id = sha256(octets).hexdigest()[:32]
    upsert(connection, saved_lookups, [{"lookup_id": lookup_id, "hashes": octets, "asked_at": now}])
    _make_room(connection, lookup_id, most)
    return lookup_id


def _make_room(connection: Connection, kept: str, most: int) -> None:
    column = saved_lookups.c
    length = func.length(column.hashes)
    size = case((length < _LEAST, _LEAST), else_=length)
    surplus = int(connection.scalars(select(func.sum(size))).one()) - most
    if surplus <= 0:
        return
    others = select(column.lookup_id, size.label("size")).where(column.lookup_id != kept)
    oldest = others.order_by(column.asked_at).limit(surplus // _LEAST + 1)
    gone = []
    for row in connection.execute(oldest).all():
        if surplus > 0:
            gone.append(row.lookup_id)
            surplus -= row.size
    for some in portions(gone):
        connection.execute(delete(saved_lookups).where(column.lookup_id.in_(some)))


def saved_lookup(connection: Connection, lookup_id: str) -> tuple[TxHash, ...] | None:
    """Return the hashes, or None where nothing is saved under the id, or not any more."""
    if not _ID.fullmatch(lookup_id):
        return None
    column = saved_lookups.c
    octets = connection.scalar(select(column.hashes).where(column.lookup_id == lookup_id))
    if octets is None:
        return None
    length = TxHash.LENGTH
    return tuple(TxHash(octets[begin : begin + length]) for begin in range(0, len(octets), length))


def purge_saved_lookups(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete those that were looked up last before then."""
    column = saved_lookups.c
    oldest = select(column.lookup_id).where(column.asked_at < before).order_by(column.asked_at)
    forgotten = 1
    while forgotten:
        with pace.writing(store) as connection:
            found = oldest.limit(pace.rows)
            gone = delete(saved_lookups).where(column.lookup_id.in_(found))
            forgotten = connection.execute(gone).rowcount
        yield forgotten
