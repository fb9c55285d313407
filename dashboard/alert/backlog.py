"""Claimed notifications in memory: which is sent next, one at a time to each address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from dashboard.domain.notification import Notification, Recipient


@dataclass(frozen=True, slots=True)
class Lanes:
    """How many letters of one channel travel side by side, and how many wait for each address.

    A letter that takes longer than `slow_after` leaves the fast lanes to the others, and the next
    one to its address begins in the slow lanes, as where the last one was not taken.
    """

    fast: int = 8
    slow: int = 16
    slow_after: timedelta = timedelta(milliseconds=300)
    share: int = 20


@dataclass(frozen=True, slots=True)
class _Journey:
    notification: Notification
    began: timedelta
    is_slow: bool


class Backlog:
    """Notifications that wait to be sent: the addresses in turn, and to each in the order given."""

    def __init__(self, lanes: Lanes) -> None:
        """Begin with nothing."""
        self._lanes = lanes
        self._waiting: dict[Recipient, list[Notification]] = {}
        self._under_way: dict[Recipient, _Journey] = {}
        self._slow: set[Recipient] = set()

    @property
    def is_under_way(self) -> bool:
        """Whether any notification travels now."""
        return bool(self._under_way)

    def room(self, recipient: Recipient) -> int:
        """Return how many notifications more may wait for an address."""
        return self._lanes.share - len(self._waiting.get(recipient, ()))

    def add(self, notifications: Iterable[Notification]) -> None:
        """Let notifications wait for their turn, in this order."""
        for notification in notifications:
            self._waiting.setdefault(notification.recipient, []).append(notification)

    def start(self, now: timedelta) -> list[Notification]:
        """Start the next notification of every address that has its turn and finds a lane."""
        started = []
        for recipient in [each for each in self._waiting if each not in self._under_way]:
            is_slow = recipient in self._slow
            if self._has_lane(recipient.channel, now, is_slow=is_slow):
                notification, *others = self._waiting.pop(recipient)
                if others:
                    self._waiting[recipient] = others  # behind all others
                self._under_way[recipient] = _Journey(notification, now, is_slow)
                started.append(notification)
        return started

    def finish(
        self, notification: Notification, now: timedelta, *, is_blocked: bool = False
    ) -> None:
        """Note that the attempt for a notification is over; drop it where it waits a second time.

        It waits while it travels where it was claimed again, under a new token.
        """
        journey = self._under_way.pop(notification.recipient)
        is_slow = is_blocked or now - journey.began >= self._lanes.slow_after
        (self._slow.add if is_slow else self._slow.discard)(notification.recipient)
        waiting = self.take_waiting(notification.recipient)
        self.add(each for each in waiting if each.notification_id != notification.notification_id)

    def take_waiting(self, recipient: Recipient) -> list[Notification]:
        """Take out everything that waits for an address."""
        return self._waiting.pop(recipient, [])

    def forget_waiting(self) -> None:
        """Drop what waits; it stays pending in the store."""
        self._waiting.clear()

    def _has_lane(self, channel: str, now: timedelta, *, is_slow: bool) -> bool:
        others = [each for to, each in self._under_way.items() if to.channel == channel]
        late = now - self._lanes.slow_after
        slow = sum(each.is_slow or each.began <= late for each in others)
        if is_slow:
            return slow < self._lanes.slow
        return len(others) - min(slow, self._lanes.slow) < self._lanes.fast
