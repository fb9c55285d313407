"""Notifications and their attempts as they are stored, for tests that look at them."""

from __future__ import annotations

from uuid import UUID

from dashboard.domain.alerts.notification import DeliveryAttempt, Notification
from dashboard.store.alerts.notification_search import NotificationFilter, search_notifications
from dashboard.store.alerts.notifications import deliveries_by_notification
from dashboard.store.engine.connection import Connection


def recent_notifications(connection: Connection, limit: int) -> list[Notification]:
    """Return the latest notifications of any state, the latest first."""
    return search_notifications(connection, NotificationFilter(), limit)


def deliveries_of(connection: Connection, notification_id: UUID) -> list[DeliveryAttempt]:
    """Return every finished attempt to hand a notification over, oldest first."""
    return deliveries_by_notification(connection, [notification_id])[notification_id]
