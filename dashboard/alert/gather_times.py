"""When an open notification is due, measured by the time since boot, which nobody sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from dashboard.alert.delivery_retry import Elapsed
from dashboard.domain.notification_pace import OpenNotification


class GatherTimes:
    """Remembers from when on each open notification waits, and how long.

    A notification waits as long as was planned for it and no longer, however the clock is set.
    """

    def __init__(self, elapsed: Elapsed) -> None:
        """Know nothing yet."""
        self._elapsed = elapsed
        self._due: dict[tuple[UUID, datetime], timedelta] = {}

    def due(
        self, notifications: Sequence[OpenNotification], now: datetime
    ) -> list[OpenNotification]:
        """Return those of all open notifications whose time has come, in the same order."""
        elapsed = self._elapsed()
        known = self._due
        self._due = {
            _key(each): known.get(_key(each), elapsed + _wait(each, now)) for each in notifications
        }
        return [each for each in notifications if self._due[_key(each)] <= elapsed]


def _key(notification: OpenNotification) -> tuple[UUID, datetime]:
    """Return what a wait belongs to: maintenance that is ended early releases at another time."""
    return notification.notification_id, notification.release_at


def _wait(notification: OpenNotification, now: datetime) -> timedelta:
    planned = notification.release_at - notification.created_at
    return max(timedelta(), min(notification.release_at - now, planned))
