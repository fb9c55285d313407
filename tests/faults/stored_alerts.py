"""What a store holds of who is notified of what, and of what waits to be said of incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, select

from dashboard.domain.notification import Recipient
from dashboard.store.engine.engine import Store
from dashboard.store.schema import (
    incidents,
    notification_incidents,
    notification_members,
    notifications,
)
from tests.faults.expected_alerts import About, Waiting


def members_in(store: Store) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return each change with who is notified of it, by which message, or why not."""
    member = notification_members.c
    query = select(
        *(member.transition_id, member.channel, member.address, member.reason),
        *(notifications.c.message_id, notifications.c.state),
    ).outerjoin(notifications, notifications.c.notification_id == member.notification_id)
    with store.read() as connection:
        return connection.execute(query).all()


def waiting_in(store: Store) -> Waiting:
    """Return the reminders and escalations that no worker has claimed."""
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(
            *(incidents.c.rule, incidents.c.grouped_by),
            *(column.kind, column.channel, column.address),
        )
        .join(notification_incidents, pair.incident_id == incidents.c.incident_id)
        .join(notifications, column.notification_id == pair.notification_id)
        .where(column.state == "pending", column.closed_at.is_(None))
    )
    found: defaultdict[About, set[tuple[str, Recipient]]] = defaultdict(set)
    with store.read() as connection:
        for row in connection.execute(query):
            about = (row.rule, tuple(map(tuple, row.grouped_by)))
            found[about].add((row.kind, Recipient(row.channel, row.address)))
    return found
