"""The members of a notification: every transition that it reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, func, select

from dashboard.domain.alerts.incident import Incident, NotifiedChange
from dashboard.domain.alerts.notification import (
    Notification,
    NotificationState,
)
from dashboard.domain.alerts.pace import LARGEST_MEMBERS
from dashboard.store.alerts.incidents import incidents_by_id
from dashboard.store.alerts.notifications import member_of, select_transitions
from dashboard.store.alerts.recipients import is_to
from dashboard.store.engine.engine import Store
from dashboard.store.schema import (
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)

_PORTION: Final = 500


def with_incidents(
    connection: Connection, notifications: Sequence[Notification]
) -> list[Notification]:
    """Return the same notifications, each with its incident if it is about one alone."""
    about = incidents_of(connection, [each.notification_id for each in notifications])
    single = {key: each[0] for key, each in about.items() if len(each) == 1}
    known = incidents_by_id(connection, set(single.values()))
    return [
        replace(each, incident=known.get(single[each.notification_id]))
        if each.notification_id in single
        else each
        for each in notifications
    ]


def all_members(store: Store, notification_id: UUID) -> Iterator[NotifiedChange]:
    """Read every member in the order of events, some hundred at a time; raises StoreError."""
    column, after = notification_members.c, -1
    query = (
        select_transitions()
        .add_columns(column.position)
        .join(notification_members, column.transition_id == transitions.c.transition_id)
        .where(column.notification_id == notification_id)
        .order_by(column.position)
        .limit(_PORTION)
    )
    while True:
        with store.read() as connection:
            rows = connection.execute(query.where(column.position > after)).mappings().all()
        yield from map(member_of, rows)
        if len(rows) < _PORTION:
            return
        after = rows[-1][column.position]


def states_of(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Return the states that each of these notifications reports, each once, in order of events."""
    column = notification_members.c
    query = (
        select(column.notification_id, transitions.c.after)
        .join(transitions, transitions.c.transition_id == column.transition_id)
        .where(column.notification_id.in_(ids))
        .group_by(column.notification_id, transitions.c.after)
        .order_by(func.min(column.position))
    )
    found: dict[UUID, list[str]] = {}
    for notification_id, after in connection.execute(query):
        found.setdefault(notification_id, []).append(after)
    return found


def sent_changes(connection: Connection, notification: Notification) -> list[NotifiedChange]:
    """Return the changes of its incidents that were sent to the same recipient, at most 5,000.

    Those are the latest, in the order of events.
    """
    pair, member, column = notification_incidents.c, notification_members.c, notifications.c
    about = select(pair.incident_id).where(pair.notification_id == notification.notification_id)
    query = (
        select_transitions()
        .join(notification_members, member.transition_id == transitions.c.transition_id)
        .join(notifications, column.notification_id == member.notification_id)
        .where(member.incident_id.in_(about), column.state == NotificationState.SENT)
        .where(is_to(notification.recipient, notification_members))
        .order_by(member.position.desc())
        .limit(LARGEST_MEMBERS)
    )
    rows = connection.execute(query).mappings().all()
    return [member_of(row) for row in reversed(rows)]


def incidents_beside(connection: Connection, notification_id: UUID) -> list[Incident]:
    """Return the incidents that a notification is about although it reports no change of them."""
    pair, member = notification_incidents.c, notification_members.c
    about = set(
        connection.scalars(select(pair.incident_id).where(pair.notification_id == notification_id))
    )
    changed = select(member.incident_id).where(member.notification_id == notification_id)
    known = incidents_by_id(connection, about - set(connection.scalars(changed.distinct())))
    return sorted(known.values(), key=lambda each: each.opened_at)


def incidents_of(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Return the ids of the incidents that each of these notifications is about."""
    column = notification_incidents.c
    found: dict[UUID, list[UUID]] = {}
    query = select(column.notification_id, column.incident_id).where(
        column.notification_id.in_(ids)
    )
    for notification_id, incident_id in connection.execute(query):
        found.setdefault(notification_id, []).append(incident_id)
    return found
