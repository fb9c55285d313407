"""Notices as people look for them: by what became of them, subject and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection

from dashboard.domain.condition import State
from dashboard.domain.notice import Notice, NoticeState
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.notice_rows import notice_of, select_notices
from dashboard.store.schema import notices, transitions


@dataclass(frozen=True, slots=True)
class NoticeFilter:
    """What is looked for; what is None may be anything.

    `since` and `until`, both included, bound the time from which the notice was owed. `after` is
    the state that it tells of.
    """

    network_id: NetworkId | None = None
    state: NoticeState | None = None
    after: State | None = None
    tx_hash: TxHash | None = None
    since: datetime | None = None
    until: datetime | None = None


def search_notices(
    connection: Connection, wanted: NoticeFilter, limit: int | None = None
) -> list[Notice]:
    """Return the notices that fit, the latest first, at most `limit`."""
    query = (
        select_notices()
        .where(*_conditions(wanted))
        .order_by(notices.c.created_at.desc(), notices.c.notice_id)
        .limit(limit)
    )
    return [notice_of(row) for row in connection.execute(query).mappings()]


def _conditions(wanted: NoticeFilter) -> Iterator[ColumnElement[bool]]:
    for column, value in (
        (transitions.c.network_id, wanted.network_id),
        (notices.c.state, wanted.state),
        (transitions.c.after, wanted.after),
        (transitions.c.tx_hash, wanted.tx_hash),
    ):
        if value is not None:
            yield column == value
    if wanted.since is not None:
        yield notices.c.created_at >= wanted.since
    if wanted.until is not None:
        yield notices.c.created_at <= wanted.until
