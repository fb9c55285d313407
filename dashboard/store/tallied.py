"""Rejections counted from tallies where those tell it, row by row where they do not.

Tallies know networks, stages, kinds of reasons, modules and times of arrival. Of the hours at
both ends of a time, which it may cut, the rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    func,
    literal,
    select,
    type_coerce,
    union_all,
)

from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.columns import milliseconds_of
from dashboard.store.rejection_search import conditions_of
from dashboard.store.schema import rejection_tallies, rejections
from dashboard.store.tally_keeping import OTHERS, is_tallied_by_name
from dashboard.store.tally_levels import Part, parts_of

_NOT_TALLIED: Final = (
    "sender",
    "tx_hash",
    "text",
    "tx_hashes",
    "claimed_since",
    "claimed_until",
)
"""Fields of a filter that tallies know nothing of."""

_ANYTHING: Final = RejectionFilter()


def rows_to_count(
    connection: Connection, wanted: RejectionFilter, step: timedelta | None = None
) -> FromClause:
    """Return rows that are together the rejections that fit; `many` says how many each stands for.

    Their columns: arrived [ms], network_id, tx_rejection_stage, reason_kind, module, many. None
    stands for rejections on both sides of a border between steps of this length. A module that
    is `OTHERS` stands for several.
    """
    if not is_tallied(connection, wanted):
        return _rows(wanted).subquery()
    since = None if wanted.since is None else milliseconds_of(wanted.since)
    until = None if wanted.until is None else milliseconds_of(wanted.until) + 1
    length = None if step is None else step // timedelta(milliseconds=1)
    parts = parts_of(since, until, length)
    return union_all(*(_part(wanted, each) for each in parts)).subquery()


def is_tallied(connection: Connection, wanted: RejectionFilter) -> bool:
    """Whether tallies tell how many rejections fit."""
    if any(getattr(wanted, name) != getattr(_ANYTHING, name) for name in _NOT_TALLIED):
        return False
    return not wanted.module or is_tallied_by_name(connection, wanted.module)


def rows_one_by_one(wanted: RejectionFilter) -> FromClause:
    """Return the same rows, none of them standing for several rejections."""
    return _rows(wanted).subquery()


def holds_others(connection: Connection, counted: FromClause) -> bool:
    """Whether some of the rows stand for modules that are not tallied by name."""
    query = select(literal(1)).select_from(counted).where(counted.c.module == OTHERS).limit(1)
    return connection.scalar(query) is not None


def step_of(counted: FromClause, step: timedelta) -> ColumnElement[Any]:
    """Return when the step of an arrival began; steps begin at multiples of it since 1970."""
    arrived = counted.c.arrived
    return arrived - arrived % (step // timedelta(milliseconds=1))


def _part(wanted: RejectionFilter, part: Part) -> Select[Any]:
    if part.level is None:
        arrived = type_coerce(rejections.c.first_seen_at, BigInteger)
        return _rows(wanted).where(*_within(arrived, part))
    column = rejection_tallies.c
    begins = type_coerce(column.begins_at, BigInteger)
    return select(
        begins.label("arrived"),
        column.network_id,
        column.tx_rejection_stage,
        column.reason_kind,
        column.module,
        column.many,
    ).where(column.level == part.level, *_within(begins, part), *_named(wanted))


def _rows(wanted: RejectionFilter) -> Select[Any]:
    column = rejections.c
    return select(
        type_coerce(column.first_seen_at, BigInteger).label("arrived"),
        column.network_id,
        column.tx_rejection_stage,
        column.reason_kind,
        func.coalesce(column.module, "").label("module"),
        literal(1, BigInteger).label("many"),
    ).where(*conditions_of(wanted))


def _within(arrived: ColumnElement[int], part: Part) -> Iterator[ColumnElement[bool]]:
    if part.begin is not None:
        yield arrived >= part.begin
    if part.end is not None:
        yield arrived < part.end


def _named(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    column = rejection_tallies.c
    for of_row, value in (
        (column.network_id, wanted.network_id),
        (column.tx_rejection_stage, wanted.tx_rejection_stage),
        (column.module, wanted.module),
        (column.reason_kind, wanted.reason_kind),
    ):
        if value is not None:
            yield of_row == value
    if wanted.network_ids is not None:
        yield column.network_id.in_(wanted.network_ids)
