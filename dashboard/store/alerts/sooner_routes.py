"""Sooner routes: what one rule holds goes by the route of another that notifies of it sooner."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, and_, case, delete, exists, or_, select, true, update

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.hourly_cap import precedence_of
from dashboard.domain.alerts.notification import Recipient
from dashboard.store.alerts.notifications import IS_PENDING
from dashboard.store.alerts.recipients import is_to
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import notification_incidents, notification_members, notifications


def release_sooner(
    connection: Connection,
    incident_id: UUID,
    transition: Transition,
    recipient: Recipient,
    route: RuleRoute,
    now: datetime,
) -> bool:
    """Let the open notification of a change go by this route, as one about its incident.

    False, with nothing changed, if that is no sooner, or if its members are fixed.
    """
    column, member = notifications.c, notification_members.c
    of_change = member.transition_id == transition.transition_id
    record = and_(of_change, is_to(recipient, notification_members))
    known = select(member.notification_id, member.incident_id).where(record)
    held_in, held_about = connection.execute(known).one()
    release_at = route.held_until or now
    is_later = column.release_at > release_at
    is_slower = or_(is_later, ~column.is_urgent) if route.is_urgent else is_later
    is_open = (column.notification_id == held_in, IS_PENDING, column.closed_at.is_(None))
    first = precedence_of(transition, route.severity, is_first=True)
    sooner = {
        "release_at": release_at,
        "next_attempt_at": release_at,
        "is_urgent": true() if route.is_urgent else column.is_urgent,
        "precedence": case((column.precedence < first, column.precedence), else_=first),
        "held_for": route.held_for,
        "held_by": route.held_by,
    }
    released = update(notifications).where(*is_open, is_slower).values(sooner)
    if connection.execute(released).rowcount == 0:
        return False
    mine = {"incident_id": incident_id}
    connection.execute(update(notification_members).where(record).values(mine))
    insert_all_new(connection, notification_incidents, [mine | {"notification_id": held_in}])
    _leave(connection, held_in, held_about)
    return True


def _leave(connection: Connection, notification_id: UUID, incident_id: UUID) -> None:
    """Make a notification without a change of an incident one that is not about it, or stays so.

    It stays so if it says that nobody acknowledged the incident.
    """
    member, pair = notification_members.c, notification_incidents.c
    changes = exists().where(
        member.notification_id == notification_id, member.incident_id == incident_id
    )
    mine = (pair.notification_id == notification_id, pair.incident_id == incident_id)
    connection.execute(delete(notification_incidents).where(*mine, ~pair.is_escalation, ~changes))
