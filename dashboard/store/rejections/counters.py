"""Tallies: how many rejections arrived when, at which stage, and what their reasons name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.reason import ReasonKind
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.rejections.counting import rows_by_stage, rows_naming_modules, rows_to_count
from dashboard.store.schema.columns import moment_of

MOST_GROUPS: Final = 20_000
"""Groups that are returned; nodes could name any number of modules."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rejections of one stage that arrived in the step beginning at `since`."""

    since: datetime
    tx_rejection_stage: RejectionStage
    count: int


@dataclass(frozen=True, slots=True)
class NamedCause:
    """Rejections whose reasons have the same form and name the same module, or none."""

    reason_kind: ReasonKind
    module: str | None
    count: int


def arrivals(connection: Connection, wanted: RejectionFilter, step: timedelta) -> list[Arrivals]:
    """Count the rejections that fit by step and stage, in this order.

    Steps begin at whole multiples of `step` since 1970. Bound the time by `wanted.since`.
    """
    counted = rows_by_stage(connection, wanted, step)
    groups = (counted.c.begins, counted.c.tx_rejection_stage)
    query = select(*groups, func.sum(counted.c.many).label("many")).group_by(*groups)
    rows = connection.execute(query.order_by(*groups).limit(MOST_GROUPS))
    return [
        Arrivals(moment_of(row.begins), RejectionStage(row.tx_rejection_stage), int(row.many))
        for row in rows
    ]


def causes(connection: Connection, wanted: RejectionFilter) -> list[NamedCause]:
    """Count the rejections that fit by what their reasons name, the commonest first."""
    counted = rows_naming_modules(connection, wanted)
    groups = (counted.c.reason_kind, counted.c.module)
    many = func.sum(counted.c.many).label("many")
    query = select(*groups, many).group_by(*groups).order_by(many.desc(), *groups)
    rows = connection.execute(query.limit(MOST_GROUPS))
    return [
        NamedCause(ReasonKind(row.reason_kind), row.module or None, int(row.many)) for row in rows
    ]


def how_many(connection: Connection, wanted: RejectionFilter) -> int:
    """Count the rejections that fit."""
    counted = rows_to_count(connection, wanted)
    return int(connection.scalar(select(func.sum(counted.c.many))) or 0)
