"""Reasons that Linewatch cannot parse: each text with how often it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, literal_column, select

from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import without_index
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import Moment

LATEST_READ: Final = 2000
"""Unread reasons that are looked at, the latest ones: more say nothing new."""


@dataclass(frozen=True, slots=True)
class UnparsedReason:
    """A reason as sent, hostile as all foreign text, and the rejections that gave it."""

    text: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime


def unparsed_reasons(
    connection: Connection, limit: int, network_id: NetworkId | None = None
) -> list[UnparsedReason]:
    """Return texts of the latest that could not be read, the commonest first."""
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
