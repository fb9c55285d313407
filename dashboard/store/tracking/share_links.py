"""Links that show one transaction to whoever has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, delete, select, update

from dashboard.domain.quantity import TxHash
from dashboard.store.engine.connection import Connection
from dashboard.store.schema import share_links

_ENDED_STAY_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ShareLink:
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
    """Store a link and return it with its id; those that ended long ago are forgotten."""
    forgotten = share_links.c.ends_at < link.created_at - _ENDED_STAY_FOR
    connection.execute(delete(share_links).where(forgotten))
    row = {
        "secret_digest": secret_digest,
        "tx_hash": link.tx_hash,
        "case_id": link.case_id,
        "created_at": link.created_at,
        "created_by": link.created_by,
        "ends_at": link.ends_at,
    }
    stored = connection.execute(share_links.insert().values(**row).returning(share_links))
    return _link(stored.one())


def share_link_of_digest(
    connection: Connection, secret_digest: bytes, now: datetime
) -> ShareLink | None:
    """Return the link that is valid now and has this secret."""
    query = select(share_links).where(share_links.c.secret_digest == secret_digest)
    row = connection.execute(query.where(share_links.c.ends_at > now)).one_or_none()
    return None if row is None else _link(row)


def valid_share_links(
    connection: Connection, now: datetime, tx_hash: TxHash | None = None
) -> list[ShareLink]:
    """Return the links that are valid now, of one transaction or all, the latest first."""
    query = select(share_links).where(share_links.c.ends_at > now)
    if tx_hash is not None:
        query = query.where(share_links.c.tx_hash == tx_hash)
    return [_link(row) for row in connection.execute(query.order_by(share_links.c.link_id.desc()))]


def end_share_link(connection: Connection, link: ShareLink, at: datetime) -> None:
    """Let a link be valid no more."""
    this = share_links.c.link_id == link.link_id
    connection.execute(update(share_links).where(this).values(ends_at=at))


def end_all_share_links(connection: Connection, at: datetime) -> None:
    """Let every link end now: one of a backup may have been revoked after it was made."""
    connection.execute(update(share_links).where(share_links.c.ends_at > at).values(ends_at=at))


def _link(row: Row[Any]) -> ShareLink:
    return ShareLink(
        row.link_id, row.tx_hash, row.case_id, row.created_at, row.created_by, row.ends_at
    )
