"""The members of a notification: every transition that it reports, and those that reach nobody.

`with_members` gives notifications that were claimed their first members and their incident: what
the text of a message is written from. `all_members` reads all of them in parts, for the attached
table. Whoever needs more of a member (a label, the version before) adds it to `NotificationMember`
and reads it here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, func, select

from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.notification import (
    FIRST_MEMBERS,
    Notification,
    NotificationMember,
    NotificationState,
)
from dashboard.domain.alerts.pace import LARGEST_MEMBERS
from dashboard.store.alerts.incidents import incidents_by_id
from dashboard.store.alerts.notifications import member_of, select_transitions
from dashboard.store.engine.engine import Store
from dashboard.store.schema import (
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)

_PORTION: Final = 500


def with_members(
    connection: Connection, notifications: Sequence[Notification]
) -> list[Notification]:
    """Return the same notifications with their first members, and the one incident of each."""
    ids = [each.notification_id for each in notifications]
    incidents = incidents_of(connection, ids)
    known = incidents_by_id(connection, {each[0] for each in incidents.values() if len(each) == 1})
    return [
        replace(
            each,
            members=_members(connection, each),
            incident=known.get(incidents.get(each.notification_id, [each.notification_id])[0])
            if len(incidents.get(each.notification_id, ())) == 1
            else None,
        )
        for each in notifications
    ]


def all_members(store: Store, notification_id: UUID) -> Iterator[NotificationMember]:
    """Read every member in the order of events, some hundred at a time; raises StoreError."""
    after = -1
    while True:
        with store.read() as connection:
            found = _part(connection, notification_id, after, _PORTION)
        for _, member in found:
            yield member
        if len(found) < _PORTION:
            return
        after = found[-1][0]


def _members(connection: Connection, notification: Notification) -> tuple[NotificationMember, ...]:
    if not notification.is_grouped:
        return notification.members
    found = _part(connection, notification.notification_id, -1, FIRST_MEMBERS)
    return tuple(member for _, member in found)


def _part(
    connection: Connection, notification_id: UUID, after: int, limit: int
) -> list[tuple[int, NotificationMember]]:
    column = notification_members.c
    query = (
        select_transitions()
        .add_columns(column.position)
        .join(notification_members, column.transition_id == transitions.c.transition_id)
        .where(column.notification_id == notification_id, column.position > after)
        .order_by(column.position)
        .limit(limit)
    )
    rows = connection.execute(query).mappings()
    return [(row[column.position], member_of(row)) for row in rows]


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


def sent_changes(connection: Connection, notification: Notification) -> list[NotificationMember]:
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
        .where(member.channel == notification.recipient.channel)
        .where(member.address == notification.recipient.address)
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
