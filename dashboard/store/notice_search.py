"""Notices as people look for them: by what became of them, subject and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, false, func, select

from dashboard.domain.condition import State
from dashboard.domain.notice import Notice, NoticeState
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.notice_rows import notice_of, select_notices
from dashboard.store.schema import conditions, notices, transitions


@dataclass(frozen=True, slots=True)
class NoticeFilter:
    """What is looked for; what is None may be anything.

    `since` and `until`, both included, bound the time from which the notice was owed. `after` is
    the state that it tells of. `address` stands in the recipient's, in either case.
    """

    network_id: NetworkId | None = None
    state: NoticeState | None = None
    after: State | None = None
    tx_hash: TxHash | None = None
    since: datetime | None = None
    until: datetime | None = None
    address: str = ""


def search_notices(
    connection: Connection, wanted: NoticeFilter, limit: int | None = None, skipped: int = 0
) -> list[Notice]:
    """Return the notices that fit after the first `skipped`, the latest first, at most `limit`."""
    query = (
        select_notices()
        .where(*_conditions(connection, wanted))
        .order_by(notices.c.created_at.desc(), notices.c.notice_id)
        .limit(limit)
        .offset(skipped)
    )
    return [notice_of(row) for row in connection.execute(query).mappings()]


def how_many_notices(connection: Connection, wanted: NoticeFilter) -> int:
    """Count the notices that fit."""
    of_transition = notices.c.transition_id == transitions.c.transition_id
    query = select(func.count()).select_from(notices).join(transitions, of_transition)
    return connection.scalars(query.where(*_conditions(connection, wanted))).one()


def _conditions(connection: Connection, wanted: NoticeFilter) -> Iterator[ColumnElement[bool]]:
    for column, value in (
        (transitions.c.network_id, wanted.network_id),
        (notices.c.state, wanted.state),
        (transitions.c.after, wanted.after),
    ):
        if value is not None:
            yield column == value
    if wanted.tx_hash is not None:
        about = select(conditions.c.subject).where(conditions.c.tx_hash == wanted.tx_hash)
        yield transitions.c.subject.in_(about)
    if wanted.address:
        addresses = _addresses_with(connection, wanted.address)
        yield notices.c.address.in_(addresses) if addresses else false()
    if wanted.since is not None:
        yield notices.c.created_at >= wanted.since
    if wanted.until is not None:
        yield notices.c.created_at <= wanted.until


def _addresses_with(connection: Connection, words: str) -> list[str]:
    """Return the addresses in which words stand.

    They are few and all of them stand in one index, while the words would be looked for in each
    notice: of 20,000 this took 11 ms of CPU, and takes 3.
    """
    known = select(notices.c.address).distinct().cte("known").prefix_with("MATERIALIZED")
    found = select(known.c.address).where(known.c.address.icontains(words, autoescape=True))
    return list(connection.scalars(found))
