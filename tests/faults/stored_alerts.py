"""What a store holds of who is notified of what, and of what waits to be said of incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select

from dashboard.domain.alerts.notification import Recipient
from dashboard.store.engine.engine import Store
from dashboard.store.schema import (
    incident_transitions,
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


def tried_in(store: Store, messages: Iterable[tuple[datetime, str]]) -> dict[UUID, datetime]:
    """Return of each change when the first message that names it was tried."""
    dates: dict[str, datetime] = {}
    for at, message_id in messages:
        dates.setdefault(message_id, at)
    found: dict[UUID, datetime] = {}
    for row in members_in(store):
        if row.message_id in dates:
            at = dates[row.message_id]
            found[row.transition_id] = min(at, found.get(row.transition_id, at))
    return found


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


def messages_about_incidents(store: Store) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return each message with each incident that it is about, or a change of which it names."""
    column, pair = notifications.c, notification_incidents.c
    member, change = notification_members.c, incident_transitions.c
    what = select(column.message_id, column.address, incidents.c.rule, incidents.c.grouped_by)
    of_itself = what.join(
        notification_incidents, pair.notification_id == column.notification_id
    ).join(incidents, incidents.c.incident_id == pair.incident_id)
    of_changes = (
        what.join(notification_members, member.notification_id == column.notification_id)
        .join(incident_transitions, change.transition_id == member.transition_id)
        .join(incidents, incidents.c.incident_id == change.incident_id)
    )
    with store.read() as connection:
        return [*connection.execute(of_itself), *connection.execute(of_changes)]
