"""Purge old changes whose incident is over, with their notifications and deliveries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, delete, func, select

from dashboard.domain.condition import SubjectKind
from dashboard.domain.notification import NotificationState
from dashboard.store.engine.batching import PORTION, AdaptiveBatches
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.save import watched_among
from dashboard.store.schema import (
    conditions,
    deliveries,
    notifications,
    outbox,
    rejections,
    transitions,
)

OPEN_STATES: Final = (NotificationState.PENDING.value, NotificationState.HELD.value)
"""What is pending, and what waits for a person after a restore, may still be handed over."""


def purge_notifications(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete changes from before, with their notifications and every attempt to deliver them.

    What lasts still keeps its changes, and so does a transaction that is tracked or was seen
    rejected since, lest it be notified again. What is pending stays, however old.
    """
    after = 0
    while found := _expanded_changes(store, after):
        after = found[-1].outbox_id
        old = [row for row in found if row.at < before]
        if not old:
            return
        yield from pace.in_batches(store, old, partial(_purge, before=before))


def _expanded_changes(store: Store, after: int) -> Sequence[Any]:
    """Return changes in the order of the outbox, which is nearly that of time."""
    seen = func.coalesce(rejections.c.seen_again_at, rejections.c.first_seen_at).label("seen")
    query = (
        select(
            outbox.c.outbox_id,
            *transitions.c["transition_id", "kind", "network_id", "tx_hash", "at", "incident_id"],
            seen,
        )
        .select_from(outbox)
        .join(transitions, transitions.c.transition_id == outbox.c.transition_id)
        .outerjoin(rejections, rejections.c.rejection_id == transitions.c.rejection_id)
        .where(outbox.c.outbox_id > after, outbox.c.expanded_at.is_not(None))
        .order_by(outbox.c.outbox_id)
        .limit(PORTION)
    )
    with store.read() as connection:
        return connection.execute(query).all()


def _purge(connection: Connection, found: Sequence[Any], before: datetime) -> int:
    ids = {row.transition_id for row in found if row.seen is None or row.seen < before}
    ids -= _of_tracked(connection, found)
    ids -= _of_open_incidents(connection, found)
    is_open = notifications.c.state.in_(OPEN_STATES)
    pending = select(notifications.c.transition_id).where(
        notifications.c.transition_id.in_(ids), is_open
    )
    ids -= set(connection.scalars(pending))
    if not ids:
        return 0
    of_change = notifications.c.transition_id.in_(ids)
    notification_ids = connection.scalars(
        select(notifications.c.notification_id).where(of_change)
    ).all()
    connection.execute(delete(deliveries).where(deliveries.c.notification_id.in_(notification_ids)))
    connection.execute(delete(notifications).where(of_change))
    connection.execute(delete(outbox).where(outbox.c.transition_id.in_(ids)))
    connection.execute(delete(transitions).where(transitions.c.transition_id.in_(ids)))
    return len(ids)


def _of_tracked(connection: Connection, found: Sequence[Any]) -> set[UUID]:
    places = {row.transition_id: (row.tx_hash, row.network_id) for row in found if row.tx_hash}
    tracked = set(watched_among(connection, places.values()))
    return {transition_id for transition_id, place in places.items() if place in tracked}


def _of_open_incidents(connection: Connection, found: Sequence[Any]) -> set[UUID]:
    """Return the changes of incidents of networks that are open; a rejection never closes."""
    of_networks = [row for row in found if row.kind != SubjectKind.TRANSACTION]
    column = conditions.c.incident_id
    incidents = {row.incident_id for row in of_networks if row.incident_id is not None}
    lasting = set(connection.scalars(select(column).where(column.in_(incidents))))
    return {row.transition_id for row in of_networks if row.incident_id in lasting}
