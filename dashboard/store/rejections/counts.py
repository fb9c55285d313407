"""How many rejections there are of each module, stage, sender, network, hour or day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, Select, func, select

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.rejections.arrivals import may_be_seen
from dashboard.store.rejections.counting import rows_naming_modules, rows_to_count
from dashboard.store.rejections.search import conditions_of, latest_first
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import moment_of

LATEST_RANKED: Final = 5000
"""Rejections among which senders are ranked: tallies know only those with many rejections."""


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
class Group:
    """Rejections that have `key` in common: a value of the domain, None where there is none."""

    key: Any
    count: int


@dataclass(frozen=True, slots=True)
class Counted:
    """The groups that were asked for, of `of` groups in all, which hold `total` rejections."""

    groups: tuple[Group, ...]
    of: int
    total: int


def count_by(
    connection: Connection,
    grouping: Grouping,
    wanted: RejectionFilter,
    networks: frozenset[NetworkId] | None,
    limit: int,
) -> Counted:
    """Count rejections of `networks`, None for all: the largest groups first.

    Hours and days come newest first. Tallies are read where they tell it.
    """
    if grouping is Grouping.SENDER:
        return _counted(connection, grouping, _of_senders(wanted, networks), limit)
    if grouping is Grouping.MODULE:
        counted = rows_naming_modules(connection, wanted)
    else:
        counted = rows_to_count(connection, wanted, _STEPS.get(grouping))
    key = _key(grouping, counted).label("key")
    query = select(key, func.sum(counted.c.many).label("many")).group_by(key)
    if networks is not None:
        query = query.where(counted.c.network_id.in_(networks))
    return _counted(connection, grouping, query, limit)


def rank_senders(
    connection: Connection, wanted: RejectionFilter, limit: int, among: int = LATEST_RANKED
) -> Counted:
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
) -> Counted:
    """Put groups in order, and count and add up all of them beside the first `limit`."""
    group = groups.subquery().c
    of, total = func.count().over().label("of"), func.sum(group.many).over().label("total")
    order = (group.key.desc(),) if grouping.is_of_time else (group.many.desc(), group.key)
    query = select(group.key, group.many, of, total).order_by(*order).limit(limit)
    rows = connection.execute(query).all()
    found = tuple(
        Group(moment_of(row.key) if grouping.is_of_time else row.key, int(row.many)) for row in rows
    )
    return Counted(found, rows[0].of, int(rows[0].total)) if rows else Counted((), 0, 0)


_STEPS: Final = {Grouping.HOUR: timedelta(hours=1), Grouping.DAY: timedelta(days=1)}


def _key(grouping: Grouping, counted: FromClause) -> ColumnElement[Any]:
    column = counted.c
    if grouping in _STEPS:
        return column.begins
    if grouping is Grouping.MODULE:
        return func.nullif(column.module, "")
    names = {
        Grouping.STAGE: column.tx_rejection_stage,
        Grouping.REASON_KIND: column.reason_kind,
        Grouping.NETWORK: column.network_id,
    }
    return names[grouping]
