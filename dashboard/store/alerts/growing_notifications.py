"""Growing notifications: those that still take changes, and how soon they go because of these."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, and_, select, update

from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.notification import (
    NotificationKind,
    NotificationState,
    Precedence,
    Recipient,
)
from dashboard.store.alerts.notifications import IS_PENDING
from dashboard.store.alerts.recipients import is_to
from dashboard.store.schema import notification_incidents, notifications
from dashboard.store.schema.columns import read_as

Place: TypeAlias = tuple[UUID, Recipient, NotificationState, datetime | None, str]
"""The place of a change: incident, recipient, state (pending, or held since a restore), until when
it is held, and by which maintenance window or quiet hours."""


class GrowingNotification(Struct):
    """A notification that still takes changes: how many it had, and has.

    It goes as soon as the most urgent of them: a trouble that joins the end of another one does
    not wait as long as that.
    """

    notification_id: UUID
    before: int = 0
    members: int = 0
    precedence: Precedence = max(Precedence)
    is_urgent: bool = False

    def take(self, precedence: Precedence, *, is_urgent: bool) -> None:
        """Take one more change."""
        self.members += 1
        self.precedence = min(self.precedence, precedence)
        self.is_urgent |= is_urgent


def growing_notification(
    connection: Connection, place: Place, latest: datetime
) -> GrowingNotification | None:
    """Return the last notification of an incident unless it is closed, or goes after `latest`.

    A held change only joins a notification that the same windows and hours hold.
    """
    incident_id, recipient, state, held_until, held_by = place
    column = notifications.c
    is_released_alike = (
        column.release_at <= latest
        if held_until is None
        else and_(column.release_at >= held_until, column.held_by == held_by)
    )
    query = (
        select(column.notification_id, column.members, column.precedence, column.is_urgent)
        .join(
            notification_incidents,
            notification_incidents.c.notification_id == column.notification_id,
        )
        .where(notification_incidents.c.incident_id == incident_id)
        .where(is_to(recipient), column.state == state)
        .where(column.closed_at.is_(None), is_released_alike)
        .where(column.kind == NotificationKind.CHANGE)
        .order_by(column.position.desc())
        .limit(1)
        .with_for_update(of=notifications)
    )
    row = connection.execute(query).one_or_none()
    return row and read_as(GrowingNotification, row, notifications, before=row.members)


def held_with_earlier(
    connection: Connection, incident_id: UUID, recipient: Recipient, route: RuleRoute, now: datetime
) -> RuleRoute:
    """Return the route held for as long as a change of an incident that a recipient has yet to get.

    Its rule, or the recipient, had other hours when that change came. Nobody hears of an end first.
    """
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(column.release_at, column.held_for, column.held_by)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incident_id, is_to(recipient), IS_PENDING)
        .where(column.closed_at.is_(None), column.kind == NotificationKind.CHANGE)
        .where(column.release_at > (route.held_until or now), column.held_for != "")
        .order_by(column.release_at.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return route
    return replace(route, held_until=row.release_at, held_for=row.held_for, held_by=row.held_by)


def save_grown(connection: Connection, growing: GrowingNotification) -> None:
    """Store what a notification took, if it took anything."""
    if growing.members != growing.before:
        mine = notifications.c.notification_id == growing.notification_id
        grown = update(notifications).where(mine)
        soonest = {"precedence": growing.precedence, "is_urgent": growing.is_urgent}
        connection.execute(grown.values(members=growing.members, **soonest))
