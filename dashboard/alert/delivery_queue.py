"""Claimed notifications in memory: which is sent next, from when on, and in which thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct

from dashboard.alert.retries import Elapsed
from dashboard.domain.alerts.hourly_cap import OpenNotification
from dashboard.domain.alerts.notification import Notification, Recipient

_Task: TypeAlias = Callable[[], None]


class QueueLimits(Struct, frozen=True):
    """How many attempts of one channel run side by side, and how many wait for each recipient.

    An attempt that takes longer than `slow_after` counts as slow and makes room for a fast one.
    The next attempt to its recipient counts as slow from its start, as after a failure.

    An attempt holds its message in memory, some megabytes if that is of thousands of changes:
    of messages of at least `large_from` changes fewer run side by side, over all channels together.
    """

    fast: int = 8
    slow: int = 16
    large_fast: int = 1
    large_slow: int = 3
    large_from: int = 500
    slow_after: timedelta = timedelta(milliseconds=300)
    per_recipient: int = 20


class _RunningAttempt(Struct, frozen=True):
    notification: Notification
    started_at: timedelta
    is_slow: bool


class DeliveryQueue:
    """Notifications that wait to be sent: the recipients in turn, and to each in order."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._waiting: dict[Recipient, list[Notification]] = {}
        self._running: dict[Recipient, _RunningAttempt] = {}
        self._slow: set[Recipient] = set()

    @property
    def is_sending(self) -> bool:
        return bool(self._running)

    def room(self, recipient: Recipient) -> int:
        """Return how many more notifications may wait for a recipient."""
        return self._limits.per_recipient - len(self._waiting.get(recipient, ()))

    def held(self, recipient: Recipient) -> list[UUID]:
        """Return the notifications to a recipient that wait here or are being sent."""
        waiting = [each.notification_id for each in self._waiting.get(recipient, ())]
        running = self._running.get(recipient)
        return waiting if running is None else [running.notification.notification_id, *waiting]

    def add(self, notifications: Iterable[Notification]) -> None:
        """Queue notifications in this order."""
        for notification in notifications:
            self._waiting.setdefault(notification.recipient, []).append(notification)

    def start(self, now: timedelta) -> list[Notification]:
        """Start and return the next notification of every recipient for whom there is capacity."""
        started = []
        for recipient in [each for each in self._waiting if each not in self._running]:
            is_slow = recipient in self._slow
            if self._has_capacity(self._waiting[recipient][0], now, is_slow=is_slow):
                notification, *others = self._waiting.pop(recipient)
                if others:
                    self._waiting[recipient] = others  # behind all other recipients
                self._running[recipient] = _RunningAttempt(notification, now, is_slow)
                started.append(notification)
        return started

    def finish(
        self, notification: Notification, now: timedelta, *, is_blocked: bool = False
    ) -> None:
        """Record that an attempt is over; drop its notification if it is queued a second time.

        It is queued while it is sent if it was claimed again, under a new token.
        """
        attempt = self._running.pop(notification.recipient)
        is_slow = is_blocked or now - attempt.started_at >= self._limits.slow_after
        (self._slow.add if is_slow else self._slow.discard)(notification.recipient)
        waiting = self.take_waiting(notification.recipient)
        self.add(each for each in waiting if each.notification_id != notification.notification_id)

    def take_waiting(self, recipient: Recipient) -> list[Notification]:
        return self._waiting.pop(recipient, [])

    def drop_waiting(self) -> None:
        """Empty the queue; the notifications stay pending in the store, to be claimed again."""
        self._waiting.clear()

    def _has_capacity(self, notification: Notification, now: timedelta, *, is_slow: bool) -> bool:
        """Whether one more attempt may run beside those on its channel, and beside large ones."""
        limits, channel = self._limits, notification.recipient.channel
        late = now - limits.slow_after

        def fits(others: list[_RunningAttempt], most_fast: int, most_slow: int) -> bool:
            slow = sum(each.is_slow or each.started_at <= late for each in others)
            if is_slow:
                return slow < most_slow
            return len(others) - min(slow, most_slow) < most_fast

        alike = [each for to, each in self._running.items() if to.channel == channel]
        if not fits(alike, limits.fast, limits.slow):
            return False
        if not self._is_large(notification):
            return True
        large = [each for each in self._running.values() if self._is_large(each.notification)]
        return fits(large, limits.large_fast, limits.large_slow)

    def _is_large(self, notification: Notification) -> bool:
        return notification.member_count >= self._limits.large_from


class ReleaseTimes:
    """Remembers since when each open notification waits, and how long.

    However the clock is set, a notification waits no longer than was planned for it, and not past
    its time: a clock that is behind when a worker begins is soon set right.
    """

    def __init__(self, elapsed: Elapsed) -> None:
        self._elapsed = elapsed
        self._due: dict[tuple[UUID, datetime], timedelta] = {}

    def due(
        self, notifications: Sequence[OpenNotification], now: datetime
    ) -> list[OpenNotification]:
        """Return those open notifications whose time has come, in the same order."""
        elapsed = self._elapsed()
        known = self._due
        self._due = {
            _key(each): known.get(_key(each), elapsed + _wait(each, now)) for each in notifications
        }
        return [
            each
            for each in notifications
            if self._due[_key(each)] <= elapsed or each.release_at <= now
        ]


def _key(notification: OpenNotification) -> tuple[UUID, datetime]:
    """Return the key of a wait: if maintenance is ended early, the release time is another."""
    return notification.notification_id, notification.release_at


def _wait(notification: OpenNotification, now: datetime) -> timedelta:
    planned = notification.release_at - notification.created_at
    return max(timedelta(), min(notification.release_at - now, planned))


class WorkerPool:
    """Runs tasks in at most `count` threads, which start when they are first needed.

    They are daemons: a silent server must not keep the process from ending. A notification whose
    attempt is cut off stays pending. The threads end when nobody holds the pool any more.
    """

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self._count = count
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._started = 0

    def __del__(self) -> None:
        """Let each thread end once it has done its tasks."""
        for _ in range(self._started):
            self._tasks.put(None)

    def submit(self, task: _Task) -> None:
        """Run a task that never raises as soon as a thread is free; called from one thread only."""
        self._tasks.put(task)
        if self._started < self._count:
            self._started += 1
            name = f"{self._name} {self._started}"
            threading.Thread(target=_work, args=(self._tasks,), name=name, daemon=True).start()


def _work(tasks: SimpleQueue[_Task | None]) -> None:
    while (task := tasks.get()) is not None:
        task()
        del task  # it holds the deliverer, whose end this thread is to notice
