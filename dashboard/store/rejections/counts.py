"""How many rejections there are: kept for each day, and by time, stage, reason or sender.

Whole days are counted by network, stage, kind of reason and module. Everything else is counted row
by row, and so are steps of less than a day and the partial days at the ends of a period.

A day begins at midnight in UTC. One rejection adds to one row; many that arrive together share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    delete,
    func,
    insert,
    select,
    type_coerce,
    union_all,
)

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.engine.batching import equal
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.rejections.search import conditions_of, latest_first
from dashboard.store.schema import rejection_days, rejections
from dashboard.store.schema.columns import milliseconds_of, moment_of

DAY_LENGTH: Final = 86_400_000
"""Milliseconds."""

_NAMES: Final = tuple(column.name for column in rejection_days.columns)


def count_inserted(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Count the rows of `rejections` that this transaction has inserted."""
    counts = Counter(
        (
            milliseconds_of(row["first_seen_at"]) // DAY_LENGTH * DAY_LENGTH,
            row["module"] or "",
            row["reason_kind"],
            row["tx_rejection_stage"],
            row["network_id"],
        )
        for row in rows
    )
    _add(connection, [(*key, many) for key, many in counts.items()])


def count_deleted(connection: Connection, rejection_ids: Sequence[int]) -> None:
    """Subtract rejections, before this transaction deletes them."""
    counted = connection.execute(recounted_days(rejections.c.rejection_id.in_(rejection_ids)))
    rows = [(*key, -many) for *key, many in counted]
    _add(connection, rows)
    column = rejection_days.c
    days = {moment_of(day) for day, *_ in rows}
    connection.execute(delete(rejection_days).where(column.day.in_(days), column.many == 0))


def counted_on(
    connection: Connection, day: datetime, most: int
) -> dict[tuple[NetworkId, str, RejectionStage], int]:
    """Return the rejections of a day by network, module and stage, the largest numbers first.

    The module, which is foreign text, is empty if the reason names none.
    """
    column = rejection_days.c
    key = (column.network_id, column.module, column.tx_rejection_stage)
    many = func.sum(column.many)
    query = select(*key, many).where(column.day == day).group_by(*key)
    rows = connection.execute(query.order_by(many.desc(), *key).limit(most))
    return {(on, module, RejectionStage(stage)): int(count) for on, module, stage, count in rows}


def rebuild_counters(connection: Connection) -> None:
    """Count all rejections again, after inserts without `count_inserted`; seconds for a million."""
    connection.execute(delete(rejection_days))
    connection.execute(insert(rejection_days).from_select(_NAMES, recounted_days()))


def recounted_days(*which: ColumnElement[bool]) -> Select[Any]:
    """Select the counters of matching rejections, with all columns in order."""
    column = rejections.c
    arrived = type_coerce(column.first_seen_at, BigInteger)
    keys = (
        (arrived - arrived % DAY_LENGTH).label("day"),
        func.coalesce(column.module, "").label("module"),
        column.reason_kind,
        column.tx_rejection_stage,
        column.network_id,
    )
    return select(*keys, func.count().label("many")).where(*which).group_by(*keys)


def _add(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    sums = (dict(zip(_NAMES, row, strict=True)) for row in rows)
    upsert_sums(connection, rejection_days, [row | {"day": moment_of(row["day"])} for row in sums])


LATEST_RANKED: Final = 5000
"""How many of the latest rejections are ranked by sender, as senders have no counters."""


class Grouping(StrEnum):
    """What rejections are counted by; hours and days of arrival, in UTC."""

    MODULE = "module"
    STAGE = "txRejectionStage"
    REASON_KIND = "reasonKind"
    SENDER = "from"
    NETWORK = "networkId"
    HOUR = "hour"
    DAY = "day"

    @property
    def is_of_time(self) -> bool:
        return self in {Grouping.HOUR, Grouping.DAY}


class GroupCount(Struct, frozen=True):
    """Rejections that have `key` in common: a value of the domain, None if there is none."""

    key: Any
    count: int


class GroupCounts(Struct, frozen=True):
    """The requested groups, of `of` groups in all, which have `total` rejections."""

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
    if networks is not None:
        seen = networks if wanted.network_ids is None else networks & wanted.network_ids
        wanted = replace(wanted, network_ids=seen)
    if grouping is Grouping.SENDER:
        key, many = rejections.c.sender.label("key"), func.count().label("many")
        groups = select(key, many).where(*conditions_of(wanted)).group_by(key)
        return _counted(connection, grouping, groups, limit)
    name = _COLUMNS[grouping]
    counted = partial_counts(wanted, (name,), _STEPS.get(grouping))
    by: ColumnElement[Any] = counted.c[name]
    key = (func.nullif(by, "") if grouping is Grouping.MODULE else by).label("key")
    groups = select(key, func.sum(counted.c.many).label("many")).group_by(key)
    return _counted(connection, grouping, groups, limit)


def rank_senders(
    connection: Connection, wanted: RejectionFilter, limit: int, among: int = LATEST_RANKED
) -> GroupCounts:
    """Count the latest `among` matching rejections by sender, the largest groups first."""
    latest = latest_first(wanted, rejections.c.sender).limit(among).subquery()
    key = latest.c.sender.label("key")
    groups = select(key, func.count().label("many")).group_by(key)
    return _counted(connection, Grouping.SENDER, groups, limit)


def _counted(
    connection: Connection, grouping: Grouping, groups: Select[tuple[Any, int]], limit: int
) -> GroupCounts:
    """Sort the groups, and count and add up all of them besides the first `limit`."""
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
"""How many groups are returned: nodes could name any number of modules."""


class CauseCount(Struct, frozen=True):
    """Rejections whose reasons have the same form and name the same module, or none."""

    reason_kind: ReasonKind
    module: str | None
    count: int


class StepCount(Struct, frozen=True):
    """Rejections with `key` in common that arrived in the step beginning at `since`.

    A key is a value of the domain, None if there is none.
    """

    since: datetime
    key: Any
    count: int


def count_over_time(
    connection: Connection, wanted: RejectionFilter, step: timedelta, grouping: Grouping
) -> list[StepCount]:
    """Count matching rejections by step and by stage, module or network, in this order.

    Steps begin at whole multiples of `step` since 1970. Bound the period by `wanted.since`.
    """
    counted = partial_counts(wanted, ("begins", _COLUMNS[grouping]), step).c
    groups = (counted.begins, counted[_COLUMNS[grouping]])
    query = select(*groups, func.sum(counted.many)).group_by(*groups).order_by(*groups)
    rows = connection.execute(query.limit(MOST_GROUPS)).all()
    return [
        StepCount(moment_of(at), None if key == "" else key, int(many)) for at, key, many in rows
    ]


def count_causes(connection: Connection, wanted: RejectionFilter) -> list[CauseCount]:
    """Count matching rejections by what their reasons name, the most frequent first."""
    # Day by day, counters come in the order of their key: half as much work as sorting them all.
    counted = partial_counts(wanted, ("begins", "module", "reason_kind"), _STEPS[Grouping.DAY]).c
    groups = (counted.reason_kind, counted.module)
    many = func.sum(counted.many).label("many")
    query = select(*groups, many).group_by(*groups).order_by(many.desc(), *groups)
    rows = connection.execute(query.limit(MOST_GROUPS))
    return [
        CauseCount(ReasonKind(row.reason_kind), row.module or None, int(row.many)) for row in rows
    ]


def count_rejections(connection: Connection, wanted: RejectionFilter) -> int:
    counted = partial_counts(wanted, ())
    return int(connection.scalar(select(func.sum(counted.c.many))) or 0)


_NOT_COUNTED: Final = (
    "sender",
    "tx_hash",
    "text",
    "tx_hashes",
    "beginning",
    "claimed_since",
    "claimed_until",
    "label",
    "search",
)
"""Fields of a filter for which there are no counters by day."""

_ANYTHING: Final = RejectionFilter()
_MILLISECOND: Final = timedelta(milliseconds=1)


def partial_counts(
    wanted: RejectionFilter, names: Sequence[str], step: timedelta | None = None
) -> FromClause:
    """Count matching rejections by columns; the numbers of a group still have to be added up.

    A column is one of `rejection_days` or, if there is a step, `begins` [ms]: the beginning of the
    step in which they arrived, at a multiple of its length since 1970. `many` is the last.
    """
    length = None if step is None else step // _MILLISECOND
    first = (
        None if wanted.since is None else _day_of(milliseconds_of(wanted.since) + DAY_LENGTH - 1)
    )
    last = None if wanted.until is None else _day_of(milliseconds_of(wanted.until) + 1)
    is_cut = length is not None and length % DAY_LENGTH != 0
    is_short = first is not None and last is not None and first >= last
    if is_cut or is_short or not _counts_by_day(wanted):
        return _count_rows(wanted, names, length).subquery()
    parts = [_count_days(wanted, (first, last), names, length)]
    if first is not None:
        until = first - _MILLISECOND
        parts.append(_count_rows(replace(wanted, until=until), names, length))
    if last is not None:
        parts.append(_count_rows(replace(wanted, since=last), names, length))
    return union_all(*parts).subquery()


def _counts_by_day(wanted: RejectionFilter) -> bool:
    """Whether the counters by day can tell how many rejections match."""
    return all(getattr(wanted, name) == getattr(_ANYTHING, name) for name in _NOT_COUNTED)


def _day_of(milliseconds: int) -> datetime:
    return moment_of(milliseconds // DAY_LENGTH * DAY_LENGTH)


def _count_rows(wanted: RejectionFilter, names: Sequence[str], step: int | None) -> Select[Any]:
    column = rejections.c
    own: dict[str, ColumnElement[Any]] = {
        **column,
        "begins": _step_of(column.first_seen_at, step),
        "module": func.coalesce(column.module, ""),
    }
    keys = [own[name].label(name) for name in names]
    counted = select(*keys, func.count().label("many")).where(*conditions_of(wanted))
    return counted.group_by(*keys)


def _count_days(
    wanted: RejectionFilter,
    between: tuple[datetime | None, datetime | None],
    names: Sequence[str],
    step: int | None,
) -> Select[Any]:
    """Add up the counters from one day to before another."""
    column = rejection_days.c
    own: dict[str, ColumnElement[Any]] = {**column, "begins": _step_of(column.day, step)}
    groups = [column.day if name == "begins" else column[name] for name in names]
    query = select(*(own[name].label(name) for name in names), func.sum(column.many).label("many"))
    query = query.group_by(*groups)
    first, last = between
    if first is not None:
        query = query.where(column.day >= first)
    if last is not None:
        query = query.where(column.day < last)
    names = ("network_id", "tx_rejection_stage", "module", "reason_kind")
    query = query.where(*equal(*((column[name], getattr(wanted, name)) for name in names)))
    if wanted.network_ids is not None:
        query = query.where(column.network_id.in_(wanted.network_ids))
    return query


def _step_of(moment: ColumnElement[datetime], step: int | None) -> ColumnElement[int]:
    """Return when the step of a moment began; without a step, the moment."""
    at = type_coerce(moment, BigInteger)
    return at if step is None else at - at % step
