"""Tallies: how many rejections arrived when, at which stage, and what their reasons name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, Connection, func, select, type_coerce

from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.reason import ReasonKind
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.columns import moment_of
from dashboard.store.rejection_search import conditions_of
from dashboard.store.schema import rejections

MOST_GROUPS: Final = 20_000
"""Groups that one tally returns; nodes could name any number of modules."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Rejections that arrived in the step beginning at `since` and have the rest in common."""

    since: datetime
    tx_rejection_stage: RejectionStage
    reason_kind: ReasonKind
    module: str | None
    count: int


def tally(connection: Connection, wanted: RejectionFilter, step: timedelta) -> list[Tally]:
    """Count the rejections that fit by step, stage and module, the largest groups first.

    Steps begin at whole multiples of `step` since 1970. Bound the time by `wanted.since`.
    """
    length = step // timedelta(milliseconds=1)
    arrived = type_coerce(rejections.c.first_seen_at, BigInteger)
    column = rejections.c
    begins = (arrived - arrived % length).label("begins")
    groups = (begins, column.tx_rejection_stage, column.reason_kind, column.module)
    many = func.count().label("many")
    query = select(*groups, many).where(*conditions_of(wanted)).group_by(*groups)
    rows = connection.execute(query.order_by(many.desc()).limit(MOST_GROUPS))
    return [
        Tally(
            moment_of(row.begins),
            RejectionStage(row.tx_rejection_stage),
            ReasonKind(row.reason_kind),
            row.module,
            row.many,
        )
        for row in rows
    ]


def how_many(connection: Connection, wanted: RejectionFilter) -> int:
    """Count the rejections that fit."""
    query = select(func.count()).select_from(rejections).where(*conditions_of(wanted))
    return connection.scalars(query).one()
