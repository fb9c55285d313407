"""Reasons that Linewatch cannot read: each text with how often it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, literal_column, select

from dashboard.domain.quantity import NetworkId
from dashboard.store.columns import Moment
from dashboard.store.schema import rejections


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
    """Return the texts that could not be read, the commonest first."""
    column, count = rejections.c, func.count()
    first, last = (pick(column.first_seen_at, type_=Moment) for pick in (func.min, func.max))
    query = (
        select(column.reason_message, count, first, last)
        # Written out, so that the planner sees that the partial index fits.
        .where(column.reason_kind == literal_column("'unparsed'"))
        .group_by(column.reason_message)
        .order_by(count.desc(), last.desc())
        .limit(limit)
    )
    if network_id is not None:
        query = query.where(column.network_id == network_id)
    return [UnparsedReason(*row) for row in connection.execute(query)]
