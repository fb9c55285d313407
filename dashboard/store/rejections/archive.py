"""The served archive of rejections: every version of a hash, and all in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    case,
    func,
    or_,
    select,
    type_coerce,
)

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    LARGEST_LEAD,
    QUERYABLE_WINDOW,
    ArchivedRejection,
    RejectedTransaction,
    StoredRejection,
)
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.rejections.search import conditions_of, may_be_seen
from dashboard.store.schema import rejections, signed_transactions
from dashboard.store.schema.columns import Moment, read_as
from dashboard.store.schema.rejections import stored_rejection


class PageRequest(Struct, frozen=True):
    """The requested page: at most `limit` rejections after the one with the id `after`.

    Ids rise in the order in which rejections are committed. Without `after`, a page begins at the
    newest or oldest rejection.
    """

    limit: int
    after: int | None = None
    is_newest_first: bool = True


def archive_page(
    connection: Connection,
    wanted: RejectionFilter,
    networks: frozenset[NetworkId],
    part: PageRequest,
) -> list[ArchivedRejection]:
    """Return matching rejections of `networks`, in the order of their arrival or reversed.

    A sender or a module is found by its index, network by network; everything else by scanning in
    order of arrival.
    """
    if wanted.sender is None and wanted.module is None:
        return _found(connection, wanted, (may_be_seen(networks),), part)
    found = [
        each
        for network_id in networks
        for each in _found(connection, replace(wanted, network_id=network_id), (), part)
        if wanted.network_id in {None, network_id}
    ]
    found.sort(key=lambda each: each.rejection.rejection_id, reverse=part.is_newest_first)
    return found[: part.limit]


def all_arrivals(connection: Connection, after: int, limit: int) -> list[ArchivedRejection]:
    """Return the rejections of all networks beyond the id `after`, oldest first."""
    return _found(
        connection, RejectionFilter(), (), PageRequest(limit, after, is_newest_first=False)
    )


def archived_versions(
    connection: Connection, tx_hash: TxHash, networks: frozenset[NetworkId], limit: int
) -> list[ArchivedRejection]:
    """Return all versions of one hash on `networks`, newest claimed time first."""
    column = rejections.c
    query = (
        _rows()
        .where(column.tx_hash == tx_hash, may_be_seen(networks))
        .order_by(*NEWEST_CLAIM_FIRST)
        .limit(limit)
    )
    return [_archived(row) for row in connection.execute(query).mappings()]


def last_rejection_id(connection: Connection) -> int:
    """Return the id of the newest rejection, 0 if there is none."""
    return connection.scalar(select(func.max(rejections.c.rejection_id))) or 0


def _found(
    connection: Connection,
    wanted: RejectionFilter,
    more: Sequence[ColumnElement[bool]],
    part: PageRequest,
) -> list[ArchivedRejection]:
    place = rejections.c.rejection_id
    query = _rows().where(*conditions_of(wanted), *more, *_reach(wanted))
    if part.after is not None:
        query = query.where(place < part.after if part.is_newest_first else place > part.after)
    query = query.order_by(place.desc() if part.is_newest_first else place).limit(part.limit)
    return [_archived(row) for row in connection.execute(query).mappings()]


def _reach(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    """Bound the ids by the times of arrival, which have nearly but not quite the same order."""
    column = rejections.c
    times = RejectionFilter(since=wanted.since, until=wanted.until)
    if wanted.since is not None:
        first = select(func.min(column.rejection_id)).where(*conditions_of(times))
        yield column.rejection_id >= first.scalar_subquery()
    if wanted.until is not None:
        last = select(func.max(column.rejection_id)).where(*conditions_of(times))
        yield column.rejection_id <= last.scalar_subquery()


def _rows() -> Select[Any]:
    signed = signed_transactions
    return select(rejections, signed.c.recipient, signed.c.tx_hash.label("signed")).join_from(
        rejections, signed, signed.c.tx_hash == rejections.c.tx_hash, isouter=True
    )


def _archived(row: RowMapping) -> ArchivedRejection:
    is_held = row["signed"] is not None
    return ArchivedRejection(
        stored_rejection(row), is_held, row[signed_transactions.c.recipient] if is_held else None
    )


_CLAIMED: Final = type_coerce(rejections.c.timestamp, BigInteger)
_ARRIVED: Final = type_coerce(rejections.c.first_seen_at, BigInteger)
_IS_UNDATED: Final = or_(
    _CLAIMED.is_(None), LARGEST_LEAD // timedelta(milliseconds=1) < _CLAIMED - _ARRIVED
)
_BELIEVED: Final = type_coerce(case((_IS_UNDATED, _ARRIVED), else_=_CLAIMED), Moment)
"""The claimed time; for a version without one, or dated ahead of our clock, when it arrived."""

NEWEST_CLAIM_FIRST: Final = (_IS_UNDATED, _BELIEVED.desc(), rejections.c.rejection_id.desc())
"""The order of versions of a hash: by claimed time. Last come those without one, or dated ahead."""


def queryable_record(
    connection: Connection, network_ids: Sequence[NetworkId], tx_hash: TxHash, now: datetime
) -> RejectedTransaction | None:
    """Return the record with the newest claimed time within seven days, inclusive, or None.

    If two claim the same time, it is the one that arrived later. A record that claims no time, or
    is dated ahead of our clock, is returned only if there is no other, for seven days from its
    arrival.
    """
    visible = (
        select(rejections)
        .where(rejections.c.tx_hash == tx_hash, rejections.c.network_id.in_(network_ids))
        .where(now - QUERYABLE_WINDOW <= _BELIEVED)
        .order_by(*NEWEST_CLAIM_FIRST)
        .limit(1)
    )
    row = connection.execute(visible).mappings().one_or_none()
    return None if row is None else read_as(RejectedTransaction, row, rejections)


def versions_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, list[StoredRejection]]:
    """Return every version of each hash on every network, newest claimed time first."""
    found: dict[TxHash, list[StoredRejection]] = {each: [] for each in hashes}
    query = select(rejections).where(rejections.c.tx_hash.in_(hashes)).order_by(*NEWEST_CLAIM_FIRST)
    for row in connection.execute(query).mappings():
        found[row.tx_hash].append(stored_rejection(row))
    return found


def count_versions(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[tuple[NetworkId, TxHash], int]:
    column = rejections.c
    pair = (column.network_id, column.tx_hash)
    query = select(*pair, func.count()).where(column.tx_hash.in_(hashes)).group_by(*pair)
    return {(network_id, tx_hash): many for network_id, tx_hash, many in connection.execute(query)}


_MOST_OF_SENDER: Final = 25


def senders_of(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]
) -> list[Address]:
    """Return the known senders of these hashes; of several records, one alone may name it."""
    column = rejections.c
    known = (column.network_id == network_id, column.sender.is_not(None))
    query = select(column.sender).where(column.tx_hash.in_(hashes), *known).distinct()
    return list(connection.scalars(query))


def rejected_since(
    connection: Connection, network_id: NetworkId, sender: Address, since: datetime
) -> list[TxHash]:
    """Return the latest hashes of an address with rejections first seen since then."""
    column = rejections.c
    query = (
        select(column.tx_hash)
        .where(column.sender == sender, column.network_id == network_id)
        .where(column.first_seen_at >= since)
        .order_by(column.first_seen_at.desc())
        .limit(_MOST_OF_SENDER)
    )
    return list(connection.scalars(query))
