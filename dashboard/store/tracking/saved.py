"""What people save and share: filters of the page Tracked, look-ups, links to a transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, case, delete, func, select, update

from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.errors import InputError
from dashboard.store.engine.batching import portions
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import saved_filters, saved_lookups, share_links
from dashboard.store.schema.columns import columns_of, read_as

LONGEST_FILTER_NAME: Final = 60
MOST_SAVED: Final = 100


class SavedFilter(Struct, frozen=True):
    """A filter by its name, with the query of the page's address; its texts are foreign."""

    name: str
    parameters: Mapping[str, str]
    saved_at: datetime
    saved_by: str


def read_saved_filters(connection: Connection) -> list[SavedFilter]:
    """Return all saved filters, by name."""
    rows = connection.execute(select(saved_filters).order_by(saved_filters.c.name))
    return [read_as(SavedFilter, row, saved_filters) for row in rows]


def save_filter(
    connection: Connection, name: str, parameters: Mapping[str, str], by: Actor
) -> None:
    """Save a filter, replacing one of the same name; InputError if there are too many."""
    column = saved_filters.c
    others = select(func.count()).where(column.name != name)
    if connection.scalars(others).one() >= MOST_SAVED:
        raise InputError(f"{MOST_SAVED} filters are saved already: remove one that nobody needs")
    row = {"parameters": dict(parameters), "saved_at": by.at, "saved_by": by.name}
    upsert(connection, saved_filters, [{"name": name} | row])


def remove_filter(connection: Connection, name: str) -> bool:
    """Remove a saved filter; False if there is none of that name."""
    of_name = delete(saved_filters).where(saved_filters.c.name == name)
    return connection.execute(of_name).rowcount > 0


LARGEST_TOTAL: Final = 500_000_000
"""Bytes of all saved look-ups: some 1,500 of 10,000 transactions."""

_ID: Final = re.compile(r"[0-9a-f]{32}")
"""The ids that `save_lookup` returns; PostgreSQL fails on some other texts as if it were down."""

_LEAST: Final = 4_096
"""The bytes that a small look-up counts at least, so that their number is bounded too."""


def save_lookup(
    connection: Connection, hashes: Sequence[TxHash], now: datetime, most: int = LARGEST_TOTAL
) -> str:
    """Save the hashes in their order; return their id, which is the same for the same hashes.

    Beyond `most` bytes in all, the look-ups used longest ago are deleted.
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
    """Return the hashes, or None if nothing is saved under the id any more."""
    if not _ID.fullmatch(lookup_id):
        return None
    column = saved_lookups.c
    octets = connection.scalar(select(column.hashes).where(column.lookup_id == lookup_id))
    if octets is None:
        return None
    length = TxHash.LENGTH
    return tuple(TxHash(octets[begin : begin + length]) for begin in range(0, len(octets), length))


_ENDED_STAY_FOR = timedelta(days=30)


class ShareLink(Struct, frozen=True):
    """A link, without its secret; `case_id` and `created_by` are foreign text.

    `ends_at` is when it expires, or when it was revoked.
    """

    link_id: int
    tx_hash: TxHash
    case_id: str
    created_at: datetime
    created_by: str
    ends_at: datetime


def add_share_link(connection: Connection, link: ShareLink, secret_digest: bytes) -> ShareLink:
    """Store a link and return it with its id; links that ended long ago are deleted."""
    forgotten = share_links.c.ends_at < link.created_at - _ENDED_STAY_FOR
    connection.execute(delete(share_links).where(forgotten))
    row = columns_of(share_links, link, secret_digest=secret_digest)
    stored = connection.execute(share_links.insert().values(**row).returning(share_links))
    return read_as(ShareLink, stored.one(), share_links)


def share_link_of_digest(
    connection: Connection, secret_digest: bytes, now: datetime
) -> ShareLink | None:
    """Return the valid link with this secret."""
    query = select(share_links).where(share_links.c.secret_digest == secret_digest)
    row = connection.execute(query.where(share_links.c.ends_at > now)).one_or_none()
    return None if row is None else read_as(ShareLink, row, share_links)


def valid_share_links(
    connection: Connection, now: datetime, tx_hash: TxHash | None = None
) -> list[ShareLink]:
    """Return the links that are valid now, of one transaction or all, the latest first."""
    query = select(share_links).where(share_links.c.ends_at > now)
    if tx_hash is not None:
        query = query.where(share_links.c.tx_hash == tx_hash)
    rows = connection.execute(query.order_by(share_links.c.link_id.desc()))
    return [read_as(ShareLink, row, share_links) for row in rows]


def end_share_link(connection: Connection, link: ShareLink, at: datetime) -> None:
    this = share_links.c.link_id == link.link_id
    connection.execute(update(share_links).where(this).values(ends_at=at))


def end_all_share_links(connection: Connection, at: datetime) -> None:
    """Revoke every link: one of a backup may have been revoked after the backup was made."""
    connection.execute(update(share_links).where(share_links.c.ends_at > at).values(ends_at=at))
