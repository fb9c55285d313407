"""Rejections of the past as rules see them: each version, if it was the first, its label."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, RowMapping, exists, select

from dashboard.domain.condition import State, Subject, Transition
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Dimension, ObservedChange, RuleScope
from dashboard.domain.tags import tags_in
from dashboard.store.rejections.rates import arrivals_of, scope_conditions
from dashboard.store.schema import rejections, tracked_hashes
from dashboard.store.schema.rejections import stored_rejection

MOST_CHANGES: Final = 20_000
"""Versions that are read at most, the latest ones: a second of work."""

MOST_ARRIVALS: Final = 200_000
"""Arrivals that are read at most for a rate, the latest ones: likewise."""


def past_rejections(
    connection: Connection, scope: RuleScope, since: datetime, until: datetime
) -> list[ObservedChange]:
    """Return the versions of a time that may fit a scope, oldest first, at most `MOST_CHANGES`."""
    column, earlier = rejections.c, rejections.alias("earlier")
    is_changed = exists().where(
        earlier.c.tx_hash == column.tx_hash,
        earlier.c.network_id == column.network_id,
        earlier.c.rejection_id < column.rejection_id,
    )
    same = tracked_hashes.c.tx_hash == column.tx_hash
    query = (
        select(rejections, *tracked_hashes.c["tracked_id", "label", "tags"])
        .add_columns(is_changed.label("is_changed"))
        .select_from(rejections.join(tracked_hashes, same, isouter=scope.takes_all_reports))
        .where(column.first_seen_at > since, column.first_seen_at <= until)
        .where(*scope_conditions(scope))
        .order_by(column.first_seen_at.desc(), column.rejection_id.desc())
        .limit(MOST_CHANGES)
    )
    return [_change(row) for row in connection.execute(query).mappings()][::-1]


def past_arrivals(
    connection: Connection,
    scope: RuleScope,
    by: Dimension | None,
    since: datetime,
    until: datetime,
) -> list[tuple[datetime, NetworkId, str]]:
    """Return when what a scope takes arrived, with the value of a dimension; oldest first.

    At most `MOST_ARRIVALS`.
    """
    return list(arrivals_of(connection, scope, by, (since, until), MOST_ARRIVALS))[::-1]


def _change(row: RowMapping) -> ObservedChange:
    rejection = stored_rejection(row)
    before = State.REJECTED if row["is_changed"] else None
    subject = Subject.transaction(rejection.network_id, rejection.record.tx_hash)
    seen = Transition(
        UUID(int=rejection.rejection_id), subject, before, State.REJECTED, rejection.first_seen_at
    )
    tracked = tracked_hashes.c
    is_tracked = row[tracked.tracked_id] is not None
    return ObservedChange(
        seen, rejection, row[tracked.label] or "", tags_in(row[tracked.tags] or ""), is_tracked
    )
