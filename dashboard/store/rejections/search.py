"""Rejections as people search for them, a page at a time, and reasons that were not understood."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, literal_column, select

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.engine.upsert import without_index
from dashboard.store.rejections.filter import arrived_before, latest_first
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import Moment
from dashboard.store.schema.rejections import stored_rejection


def search(
    connection: Connection,
    wanted: RejectionFilter,
    limit: int | None = None,
    skipped: int = 0,
    before: tuple[datetime, int] | None = None,
) -> list[StoredRejection]:
    """Return the rejections that fit after the first `skipped`, at most `limit`.

    The latest arrival comes first. `before`: arrival and id of the one that they follow.
    """
    query = latest_first(wanted, *rejections.c).limit(limit).offset(skipped)
    if before is not None:
        query = query.where(arrived_before(wanted, before))
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def latest_reasons(connection: Connection, wanted: RejectionFilter, limit: int) -> list[str]:
    """Return the reasons, as they were sent, of the latest `limit` rejections that fit."""
    return list(connection.scalars(latest_first(wanted, rejections.c.reason_message).limit(limit)))


LATEST_READ: Final = 2000
"""Unparsed reasons that are counted, the latest ones: more say nothing new."""


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
