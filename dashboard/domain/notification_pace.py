"""The pace of notifications: how many a recipient gets in an hour, and what is merged into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.domain.notification import NotificationKind, Recipient

LARGEST_HOURLY: Final = 12
LARGEST_MEMBERS: Final = 5_000
"""Transitions that one notification gathers, so that its attachment stays a few megabytes."""

HOUR: Final = timedelta(hours=1)
LATE_AFTER: Final = timedelta(minutes=2)
"""What waits for so long beyond its time was held up, by a cap or an outage, and is merged."""

FEW: Final = 3
"""Messages that are tried in turn for a recipient to whom none can be delivered."""

_LONGER_TRIAL: Final = timedelta(minutes=10)
"""After how long one more is tried, should all of the few be the cause; that doubles each time."""

HELD_FROM: Final = timedelta(minutes=10)
"""What was to wait longer than this was held, not gathered: what was held together is merged."""

_BETWEEN_URGENT: Final = timedelta(minutes=1)
_SPACED: Final = timedelta(minutes=50)
"""The time over which the second half of an hour's notifications is spaced out."""


@dataclass(frozen=True, slots=True)
class OpenNotification:
    """A notification that still gathers members; nobody has claimed it.

    `position` orders it by its first member. It is due at `release_at`.
    """

    notification_id: UUID
    recipient: Recipient
    position: int
    created_at: datetime
    release_at: datetime
    members: int = 1
    is_urgent: bool = False
    kind: NotificationKind = NotificationKind.CHANGE

    @property
    def was_held(self) -> bool:
        """Whether it waits for the end of quiet hours or maintenance, far beyond any gathering."""
        return self.release_at - self.created_at > HELD_FROM


@dataclass(frozen=True, slots=True)
class Closing:
    """Open notifications that become one, the first of them: its membership is fixed then."""

    notification_id: UUID
    merged: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipientTraffic:
    """What went to a recipient: `recent` are the times of the last hour, in order.

    `urgent` are those of them at which something urgent went.
    `waiting` is how many that gather no more are not delivered yet, the latest since `latest`.
    """

    recent: Sequence[datetime] = ()
    waiting: int = 0
    latest: datetime | None = None
    urgent: Sequence[datetime] = ()

    def is_stuck(self, now: datetime) -> bool:
        """Whether enough wait to be delivered already, so that all others go on gathering."""
        if self.waiting < FEW or self.latest is None:
            return False
        trial = _LONGER_TRIAL * (1 << min(self.waiting - FEW, 10))
        return timedelta() <= now - self.latest < trial


@dataclass(frozen=True, slots=True)
class Pace:
    """How many notifications a recipient gets within an hour.

    Half of them may follow each other at once. Between the others the wait doubles, so that a storm
    of any length is named in full within minutes and the hour still ends below the cap.
    """

    largest_hourly: int = LARGEST_HOURLY
    largest_members: int = LARGEST_MEMBERS

    def room(self, recent: Sequence[datetime], now: datetime) -> int:
        """Return how many may go now, after those that went at the `recent` times, in order."""
        within = _within_the_hour(recent, now)
        free = (self.largest_hourly + 1) // 2
        if len(within) < free:
            return free - len(within)
        return int(now - within[-1] >= self._gap(len(within)))

    def urgent_room(self, recent: Sequence[datetime], now: datetime) -> int:
        """Return how many urgent ones may go now, after those that went at the `recent` times.

        Beyond the cap one a minute goes, so that no storm of what is urgent is a flood of messages.
        """
        within = _within_the_hour(recent, now)
        if len(within) < self.largest_hourly:
            return self.largest_hourly - len(within)
        return int(now - within[-1] >= _BETWEEN_URGENT)

    def _gap(self, sent: int) -> timedelta:
        """Return the least time between the last of so many within an hour and the next."""
        spaced = self.largest_hourly // 2
        place = sent - (self.largest_hourly - spaced)
        if place >= spaced:
            return HOUR
        return _SPACED * (1 << place) / ((1 << spaced) - 1)


def plan_closings(
    due: Sequence[OpenNotification], traffic: RecipientTraffic, now: datetime, pace: Pace
) -> list[Closing]:
    """Return which of the due notifications of one recipient go now, and what is merged into one.

    `due` is in order of position. What is urgent goes at once, by itself, up to as many an hour as
    all others, and then what there is once a minute. Of the rest, as many go by themselves as there
    is room for; the last that goes takes all others of its kind with it. So does the first, where
    two or more were held up. Nothing goes while enough waits to be delivered.
    """
    if traffic.is_stuck(now):
        return []
    urgent = [each for each in due if each.is_urgent]
    closings = _fitted(urgent, pace.urgent_room(traffic.urgent, now), pace)
    rest = [each for each in due if not each.is_urgent]
    late = sum(each.was_held or now - each.release_at > LATE_AFTER for each in rest)
    room = pace.room([*traffic.recent, *[now] * len(closings)], now)
    return closings + _fitted(rest, min(room, 1) if late > 1 else room, pace)


def _fitted(due: Sequence[OpenNotification], room: int, pace: Pace) -> list[Closing]:
    """Let as many go by themselves as there is room for, the last of them with all of its kind."""
    if room == 0 or not due:
        return []
    alone = len(due) if len(due) <= room else room - 1
    closings = [Closing(each.notification_id) for each in due[:alone]]
    if due[alone:]:
        alike = [each for each in due[alone:] if each.kind is due[alone].kind]
        first, *others = _within(alike, pace.largest_members)
        closings.append(Closing(first, tuple(others)))
    return closings


def _within_the_hour(times: Sequence[datetime], now: datetime) -> list[datetime]:
    """Leave out what is older, and what lies ahead: the clock was set back."""
    return [each for each in times if now - HOUR < each <= now]


def _within(notifications: Iterable[OpenNotification], most: int) -> list[UUID]:
    """Return the first that together have at most so many members, at least one."""
    taken: list[UUID] = []
    members = 0
    for each in notifications:
        members += each.members
        if taken and members > most:
            break
        taken.append(each.notification_id)
    return taken
