"""Rejections as people search for them: the SQL of a filter, pages, unknown reasons."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Select, func, literal_column, select, tuple_

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.engine.batching import equal, within
from dashboard.store.engine.upsert import holds_text, without_index
from dashboard.store.schema import rejections, tracked_hashes
from dashboard.store.schema.columns import Moment
from dashboard.store.schema.rejections import stored_rejection
from dashboard.store.shown_search import hash_in_range, matches_search, rejection_in_range


def latest_first(wanted: RejectionFilter, *columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns of matching rejections, the latest arrival first."""
    arrived = rejections.c.first_seen_at
    place = rejections.c.rejection_id.desc()
    if _selects_few(wanted):
        order = (without_index(arrived).desc(), place)
        return select(*columns).where(*conditions_of(wanted)).order_by(*order)
    query = select(*columns).order_by(arrived.desc(), place)
    if wanted.network_id is None or (wanted.module is None and wanted.sender is None):
        return query.where(*conditions_of(wanted))
    of_network = without_index(rejections.c.network_id) == wanted.network_id
    return query.where(*conditions_of(replace(wanted, network_id=None)), of_network)


def arrived_before(wanted: RejectionFilter, place: tuple[datetime, int]) -> ColumnElement[bool]:
    """Require what `latest_first` has after the rejection of this arrival and id."""
    arrived = rejections.c.first_seen_at
    return (
        tuple_(
            without_index(arrived) if _selects_few(wanted) else arrived, rejections.c.rejection_id
        )
        < place
    )


def _selects_few(wanted: RejectionFilter) -> bool:
    """Whether few rows match the filter, so that the index of times must not be used."""
    named = (wanted.tx_hash, wanted.tx_hashes, wanted.beginning)
    return any(each is not None for each in named) or bool(wanted.label)


def conditions_of(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on rows of `rejections`."""
    column = rejections.c
    of_network = column.network_id
    yield from equal(
        (of_network if wanted.beginning is None else without_index(of_network), wanted.network_id),
        (column.tx_rejection_stage, wanted.tx_rejection_stage),
        (column.module, wanted.module or None),
        (column.reason_kind, wanted.reason_kind),
        (column.sender, wanted.sender),
        (column.tx_hash, wanted.tx_hash),
    )
    if wanted.module == "":
        yield column.module.is_(None)
    if wanted.label:
        yield column.tx_hash.in_(hashes_with_label(wanted.label))
    if wanted.text:
        yield holds_text(column.reason_message, wanted.text)
    if wanted.search:
        yield matches_search(wanted.search)
    if wanted.network_ids is not None:
        yield may_be_seen(wanted.network_ids)
    if wanted.tx_hashes is not None:
        yield hash_in_range(column.tx_hash, wanted.tx_hashes)
    if wanted.beginning is not None:
        yield rejection_in_range(wanted.beginning)
    arrived = without_index(column.first_seen_at) if _selects_few(wanted) else column.first_seen_at
    yield from within(arrived, wanted.since, wanted.until)
    yield from within(column.timestamp, wanted.claimed_since, wanted.claimed_until)


def hashes_with_label(label: str) -> Select[Any]:
    """Select the hashes that carry exactly this label, which is not empty."""
    column = tracked_hashes.c
    return select(column.tx_hash).where(column.label == label, column.label != literal_column("''"))


def may_be_seen(networks: frozenset[NetworkId]) -> ColumnElement[bool]:
    """Require one of these networks, by reading each row.

    The plus keeps the planner from collecting every row of a network by index in order to sort
    them.
    """
    return without_index(rejections.c.network_id).in_(networks)


def search(
    connection: Connection,
    wanted: RejectionFilter,
    limit: int | None = None,
    skipped: int = 0,
    before: tuple[datetime, int] | None = None,
) -> list[StoredRejection]:
    """Return at most `limit` matching rejections after the first `skipped`.

    The latest arrival comes first. `before`: arrival and id of the one that they follow.
    """
    query = latest_first(wanted, *rejections.c).limit(limit).offset(skipped)
    if before is not None:
        query = query.where(arrived_before(wanted, before))
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def latest_reasons(connection: Connection, wanted: RejectionFilter, limit: int) -> list[str]:
    """Return the reasons, as sent, of the latest `limit` matching rejections."""
    return list(connection.scalars(latest_first(wanted, rejections.c.reason_message).limit(limit)))


LATEST_READ: Final = 2000
"""How many unparsed reasons are counted, the latest ones: more would say nothing new."""


class UnparsedReason(Struct, frozen=True):
    """A reason as sent, hostile as all foreign text, and the rejections that gave it."""

    text: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime


def unparsed_reasons(
    connection: Connection, limit: int, network_id: NetworkId | None = None
) -> list[UnparsedReason]:
    """Return the latest reasons that could not be parsed, the most frequent first."""
    latest = (
        select(rejections.c.reason_message, rejections.c.first_seen_at)
        # Written out, so that the planner sees that the partial index fits.
        .where(rejections.c.reason_kind == literal_column("'unparsed'"))
        .order_by(rejections.c.first_seen_at.desc())
        .limit(LATEST_READ)
    )
    if network_id is not None:
        latest = latest.where(without_index(rejections.c.network_id) == network_id)
    column, count = latest.subquery().c, func.count()
    first, last = (pick(column.first_seen_at, type_=Moment) for pick in (func.min, func.max))
    query = (
        select(column.reason_message, count, first, last)
        .group_by(column.reason_message)
        .order_by(count.desc(), last.desc())
        .limit(limit)
    )
    return [UnparsedReason(*row) for row in connection.execute(query)]
