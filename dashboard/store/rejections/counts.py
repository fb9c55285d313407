"""How many rejections there are, by time, stage, module, reason, sender or network.

Counters know networks, stages, kinds of reasons, modules, times of arrival and the senders of many
rejections; all else is counted row by row. At both ends of a time that cuts an hour, rows are
counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    func,
    literal,
    select,
    type_coerce,
    union_all,
)

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.rejections.counter_steps import (
    STEP_LENGTHS,
    CountedRange,
    CounterStep,
    ranges_of,
)
from dashboard.store.rejections.counters import OTHERS, has_sender_counters, is_counted_by_name
from dashboard.store.rejections.filter import conditions_of, latest_first, may_be_seen
from dashboard.store.schema import rejection_counters, rejections, sender_counters
from dashboard.store.schema.columns import milliseconds_of, moment_of

LATEST_RANKED: Final = 5000
"""Rejections among which senders are ranked: only those with many rejections have counters."""


class Grouping(StrEnum):
    """What rejections are counted by; hours and days are those of arrival, in UTC."""

    MODULE = "module"
    STAGE = "txRejectionStage"
    REASON_KIND = "reasonKind"
    SENDER = "from"
    NETWORK = "networkId"
    HOUR = "hour"
    DAY = "day"

    @property
    def is_of_time(self) -> bool:
        """Whether groups have an order of their own."""
        return self in {Grouping.HOUR, Grouping.DAY}


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Rejections that have `key` in common: a value of the domain, None where there is none."""

    key: Any
    count: int


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The groups that were asked for, of `of` groups in all, which hold `total` rejections."""

    groups: tuple[GroupCount, ...]
    of: int
    total: int


def count_by(
    connection: Connection,
    grouping: Grouping,
    wanted: RejectionFilter,
    networks: frozenset[NetworkId] | None,
    limit: int,
) -> GroupCounts:
    """Count rejections of `networks`, None for all: the largest groups first.

    Hours and days come newest first.
    """
    if grouping is Grouping.SENDER:
        return _counted(connection, grouping, _of_senders(wanted, networks), limit)
    if grouping is Grouping.MODULE:
        counted = rows_naming_modules(connection, wanted)
    else:
        counted = rows_to_count(connection, wanted, _STEPS.get(grouping))
    key: ColumnElement[Any] = counted.c[_COLUMNS[grouping]]
    if grouping is Grouping.MODULE:
        key = func.nullif(key, "")
    key = key.label("key")
    query = select(key, func.sum(counted.c.many).label("many")).group_by(key)
    if networks is not None:
        query = query.where(counted.c.network_id.in_(networks))
    return _counted(connection, grouping, query, limit)


def rank_senders(
    connection: Connection, wanted: RejectionFilter, limit: int, among: int = LATEST_RANKED
) -> GroupCounts:
    """Count by sender the latest `among` rejections that fit, the largest groups first."""
    latest = latest_first(wanted, rejections.c.sender).limit(among).subquery()
    key = latest.c.sender.label("key")
    groups = select(key, func.count().label("many")).group_by(key)
    return _counted(connection, Grouping.SENDER, groups, limit)


def _of_senders(
    wanted: RejectionFilter, networks: frozenset[NetworkId] | None
) -> Select[tuple[Any, int]]:
    allowed = () if networks is None else (may_be_seen(networks),)
    key = rejections.c.sender.label("key")
    query = select(key, func.count().label("many")).group_by(key)
    return query.where(*conditions_of(wanted), *allowed)


def _counted(
    connection: Connection, grouping: Grouping, groups: Select[tuple[Any, int]], limit: int
) -> GroupCounts:
    """Put groups in order, and count and add up all of them beside the first `limit`."""
    group = groups.subquery().c
    of, total = func.count().over().label("of"), func.sum(group.many).over().label("total")
    order = (group.key.desc(),) if grouping.is_of_time else (group.many.desc(), group.key)
    query = select(group.key, group.many, of, total).order_by(*order).limit(limit)
    rows = connection.execute(query).all()
    found = tuple(
        GroupCount(moment_of(row.key) if grouping.is_of_time else row.key, int(row.many))
        for row in rows
    )
    return GroupCounts(found, rows[0].of, int(rows[0].total)) if rows else GroupCounts((), 0, 0)


_STEPS: Final = {Grouping.HOUR: timedelta(hours=1), Grouping.DAY: timedelta(days=1)}


_COLUMNS: Final = {
    Grouping.HOUR: "begins",
    Grouping.DAY: "begins",
    Grouping.MODULE: "module",
    Grouping.STAGE: "tx_rejection_stage",
    Grouping.REASON_KIND: "reason_kind",
    Grouping.NETWORK: "network_id",
}


MOST_GROUPS: Final = 20_000
"""Groups that are returned; nodes could name any number of modules."""


@dataclass(frozen=True, slots=True)
class CauseCount:
    """Rejections whose reasons have the same form and name the same module, or none."""

    reason_kind: ReasonKind
    module: str | None
    count: int


@dataclass(frozen=True, slots=True)
class StepCount:
    """Rejections with `key` in common that arrived in the step beginning at `since`.

    A key is a value of the domain, None where there is none.
    """

    since: datetime
    key: Any
    count: int


def count_over_time(
    connection: Connection, wanted: RejectionFilter, step: timedelta, grouping: Grouping
) -> list[StepCount]:
    """Count the rejections that fit by step and by stage, module or network, in this order.

    Steps begin at whole multiples of `step` since 1970. Bound the time by `wanted.since`.
    """
    sums = _sums_by_step(connection, wanted, step // _MILLISECOND, grouping)
    counted = union_all(*sums).subquery().c
    query = select(counted.begins, counted.key, func.sum(counted.many))
    query = query.group_by(counted.begins, counted.key).order_by(counted.begins, counted.key)
    rows = connection.execute(query.limit(MOST_GROUPS)).all()
    return [
        StepCount(moment_of(at), None if key == "" else key, int(many)) for at, key, many in rows
    ]


def count_causes(connection: Connection, wanted: RejectionFilter) -> list[CauseCount]:
    """Count the rejections that fit by what their reasons name, the commonest first."""
    counted = rows_naming_modules(connection, wanted)
    groups = (counted.c.reason_kind, counted.c.module)
    many = func.sum(counted.c.many).label("many")
    query = select(*groups, many).group_by(*groups).order_by(many.desc(), *groups)
    rows = connection.execute(query.limit(MOST_GROUPS))
    return [
        CauseCount(ReasonKind(row.reason_kind), row.module or None, int(row.many)) for row in rows
    ]


def count_rejections(connection: Connection, wanted: RejectionFilter) -> int:
    """Count the rejections that fit."""
    counted = rows_to_count(connection, wanted)
    return int(connection.scalar(select(func.sum(counted.c.many))) or 0)


_NOT_COUNTED: Final = (
    "tx_hash",
    "text",
    "tx_hashes",
    "beginning",
    "claimed_since",
    "claimed_until",
    "label",
    "search",
)
"""Fields of a filter by which counters do not count."""

_ANYTHING: Final = RejectionFilter()
_MILLISECOND: Final = timedelta(milliseconds=1)


def rows_to_count(
    connection: Connection, wanted: RejectionFilter, step: timedelta | None = None
) -> FromClause:
    """Return rows that stand for the rejections that fit, `many` of them each.

    Columns: begins [ms], the beginning of the step in which they arrived, at a multiple of its
    length since 1970; network_id, tx_rejection_stage, reason_kind, module, many. The module
    `OTHERS` stands for several. Without a step, `begins` means nothing.
    """
    length = None if step is None else step // _MILLISECOND
    if not has_counters(connection, wanted):
        return _rows(wanted, length).subquery()
    parts = _ranges(wanted, length)
    return union_all(*(_counted_range(wanted, each, length) for each in parts)).subquery()


def rows_naming_modules(connection: Connection, wanted: RejectionFilter) -> FromClause:
    """Return the rows of `rows_to_count`, with each module by its own name."""
    if _has_others(connection):
        return _rows(wanted, None).subquery()
    return rows_to_count(connection, wanted)


def _has_others(connection: Connection) -> bool:
    """Whether counters hold modules without their names."""
    is_other = (
        rejection_counters.c.level == CounterStep.EVER,
        rejection_counters.c.module == OTHERS,
    )
    return connection.scalar(select(literal(1)).where(*is_other).limit(1)) is not None


def has_counters(connection: Connection, wanted: RejectionFilter) -> bool:
    """Whether counters say how many rejections fit."""
    if any(getattr(wanted, name) != getattr(_ANYTHING, name) for name in _NOT_COUNTED):
        return False
    if wanted.sender is not None and not has_sender_counters(connection, wanted.sender):
        return False
    return not wanted.module or is_counted_by_name(connection, wanted.module)


def _ranges(wanted: RejectionFilter, step: int | None) -> list[CountedRange]:
    since = None if wanted.since is None else milliseconds_of(wanted.since)
    until = None if wanted.until is None else milliseconds_of(wanted.until) + 1
    return ranges_of(since, until, step)


def _sums_by_step(
    connection: Connection, wanted: RejectionFilter, step: int, grouping: Grouping
) -> Iterator[Select[Any]]:
    """Yield selects of `begins`, `key` and `many` of the rejections that fit.

    Counters are added up by their own time, in the order of their key, and then by step: all of
    them by step takes twice as long.
    """
    is_nameless = grouping is Grouping.MODULE and _has_others(connection)
    if is_nameless or not has_counters(connection, wanted):
        row = _rows(wanted, step).subquery().c
        yield select(row.begins, row[_COLUMNS[grouping]].label("key"), row.many)
        return
    for part in _ranges(wanted, step):
        row = _counted_range(wanted, part, step if part.level is None else None).subquery().c
        key, many = row[_COLUMNS[grouping]].label("key"), row.many
        if part.level is None:
            yield select(row.begins, key, many)
            continue
        sums = select(row.begins, key, func.sum(many).label("many")).group_by(row.begins, key)
        of_all = sums.subquery().c
        yield select(
            (of_all.begins - of_all.begins % step).label("begins"), of_all.key, of_all.many
        )


def _counted_range(wanted: RejectionFilter, part: CountedRange, step: int | None) -> Select[Any]:
    if part.level is None:
        arrived = type_coerce(rejections.c.first_seen_at, BigInteger)
        return _rows(wanted, step).where(*_within(arrived, part))
    column = _counters_for(wanted).c
    begins = type_coerce(column.begins_at, BigInteger)
    # A bare column lets groups come in the order of the key, without sorting.
    is_whole = step is None or STEP_LENGTHS.get(part.level) == step
    return select(
        (begins if is_whole else begins - begins % step).label("begins"),
        column.network_id,
        column.tx_rejection_stage,
        column.reason_kind,
        column.module,
        column.many,
    ).where(column.level == part.level, *_within(begins, part), *_named(wanted))


def _rows(wanted: RejectionFilter, step: int | None) -> Select[Any]:
    column = rejections.c
    arrived = type_coerce(column.first_seen_at, BigInteger)
    return select(
        (arrived if step is None else arrived - arrived % step).label("begins"),
        column.network_id,
        column.tx_rejection_stage,
        column.reason_kind,
        func.coalesce(column.module, "").label("module"),
        literal(1, BigInteger).label("many"),
    ).where(*conditions_of(wanted))


def _within(arrived: ColumnElement[int], part: CountedRange) -> Iterator[ColumnElement[bool]]:
    if part.begin is not None:
        yield arrived >= part.begin
    if part.end is not None:
        yield arrived < part.end


def _counters_for(wanted: RejectionFilter) -> Table:
    return rejection_counters if wanted.sender is None else sender_counters


def _named(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    column = _counters_for(wanted).c
    if wanted.sender is not None:
        yield column.sender == wanted.sender
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
