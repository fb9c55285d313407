"""How many rejections there are of each module, stage, sender, network, hour or day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, func, select, type_coerce

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.archive import may_be_seen
from dashboard.store.columns import moment_of
from dashboard.store.rejection_search import conditions_of
from dashboard.store.schema import rejections


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

    Hours and days come newest first.
    """
    allowed = () if networks is None else (may_be_seen(networks),)
    key = _KEYS[grouping]().label("key")
    many = func.count().label("many")
    query = (
        select(key, many, func.count().over().label("of"), func.sum(many).over().label("total"))
        .where(*conditions_of(wanted), *allowed)
        .group_by(key)
        .order_by(*((key.desc(),) if grouping.is_of_time else (many.desc(), key)))
        .limit(limit)
    )
    rows = connection.execute(query).all()
    groups = tuple(
        Group(moment_of(row.key) if grouping.is_of_time else row.key, row.many) for row in rows
    )
    return Counted(groups, rows[0].of, int(rows[0].total)) if rows else Counted((), 0, 0)


def _beginning(step: timedelta) -> ColumnElement[Any]:
    """Return when the step of an arrival began; steps begin at multiples of it since 1970."""
    arrived = type_coerce(rejections.c.first_seen_at, BigInteger)
    return arrived - arrived % (step // timedelta(milliseconds=1))


_KEYS: Final[dict[Grouping, Callable[[], ColumnElement[Any]]]] = {
    Grouping.MODULE: lambda: rejections.c.module,
    Grouping.STAGE: lambda: rejections.c.tx_rejection_stage,
    Grouping.REASON_KIND: lambda: rejections.c.reason_kind,
    Grouping.SENDER: lambda: rejections.c.sender,
    Grouping.NETWORK: lambda: rejections.c.network_id,
    Grouping.HOUR: lambda: _beginning(timedelta(hours=1)),
    Grouping.DAY: lambda: _beginning(timedelta(days=1)),
}
