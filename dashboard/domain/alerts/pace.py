"""The pace of notifications: how many a recipient gets in an hour, and what goes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.notification import Delay, NotificationKind, Precedence, Recipient
from dashboard.domain.alerts.rule import Severity

LARGEST_HOURLY: Final = 12
LARGEST_MEMBERS: Final = 5_000
"""Transitions that one notification gathers, so that its attachment stays a few megabytes."""

_UNCAPPED_HOURLY: Final = 1_000_000

HOUR: Final = timedelta(hours=1)
LATE_AFTER: Final = timedelta(minutes=2)
"""What waits for so long beyond its time was held up, by a cap or an outage, and is merged."""

FEW: Final = 3
"""Messages that are tried in turn for a recipient to whom none can be delivered."""

_LONGER_TRIAL: Final = timedelta(minutes=10)
"""After how long one more is tried, should all of the few be the cause; that doubles each time."""

_BETWEEN_URGENT: Final = timedelta(minutes=1)
_SPACED: Final = timedelta(minutes=50)
"""The time over which the second half of an hour's notifications is spaced out."""


@dataclass(frozen=True, slots=True)
class OpenNotification:
    """A notification that still gathers members; nobody has claimed it.

    `position` orders it by its first member. It is due at `release_at`. `is_of_network`: it is
    about no transaction. `incident_id` is the one that it is about, None where that is not known.
    `was_held`: quiet hours or maintenance held it until then.
    """

    notification_id: UUID
    recipient: Recipient
    position: int
    created_at: datetime
    release_at: datetime
    members: int = 1
    is_urgent: bool = False
    kind: NotificationKind = NotificationKind.CHANGE
    precedence: Precedence = Precedence.CHANGE
    is_of_network: bool = False
    incident_id: UUID | None = None
    was_held: bool = False

    @property
    def is_digest(self) -> bool:
        """Whether it says what happened in a time, which is merged with nothing."""
        return self.kind is NotificationKind.DIGEST

    @property
    def is_reminder(self) -> bool:
        """Whether nothing changed since its recipient was notified."""
        return self.kind is NotificationKind.REMINDER


@dataclass(frozen=True, slots=True)
class Closing:
    """Open notifications that become one, the first of them: its membership is fixed then.

    `delay` says why that is later than it was due, None where it is not.
    """

    notification_id: UUID
    merged: tuple[UUID, ...] = ()
    delay: Delay | None = None


@dataclass(frozen=True, slots=True)
class RecipientTraffic:
    """What went to a recipient: `recent` are the times of the last hour, in order.

    `urgent` are those of them at which something urgent went, `first` those of first messages about
    an incident and of what is critical, `reminders` those of reminders.
    `waiting` is how many that gather no more are not delivered yet, the latest since `latest`.
    """

    recent: Sequence[datetime] = ()
    waiting: int = 0
    latest: datetime | None = None
    urgent: Sequence[datetime] = ()
    reminders: Sequence[datetime] = ()
    first: Sequence[datetime] = ()

    def is_stuck(self, now: datetime) -> bool:
        """Whether enough wait to be delivered already, so that all others go on gathering."""
        if self.waiting < FEW or self.latest is None:
            return False
        trial = _LONGER_TRIAL * (1 << min(self.waiting - FEW, 10))
        return timedelta() <= now - self.latest < trial

    def after(self, more: int, now: datetime, *, are_first: bool = False) -> RecipientTraffic:
        """Return it after so many more that went now."""
        first = [*self.first, *[now] * more] if are_first else self.first
        return replace(self, recent=[*self.recent, *[now] * more], first=first)

    def with_gone(self, gone: Sequence[OpenNotification], now: datetime) -> RecipientTraffic:
        """Return it after these went now."""
        urgent = [now for each in gone if each.is_urgent]
        reminders = [now for each in gone if each.is_reminder]
        first = [now for each in gone if each.precedence <= Precedence.OPENING]
        return replace(
            self,
            recent=[*self.recent, *[now] * len(gone)],
            urgent=[*self.urgent, *urgent],
            reminders=[*self.reminders, *reminders],
            first=[*self.first, *first],
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """How many notifications a recipient gets within an hour.

    Half of them may follow each other at once. Between the others the wait doubles, so that a storm
    of any length is named in full within minutes and the hour still ends below the cap. A quarter
    is kept for the first message about an incident and for what is critical, which nothing else
    delays before the cap is reached. The cap spares people: programs behind the `uncapped`
    channels get everything at once.
    """

    largest_hourly: int = LARGEST_HOURLY
    largest_members: int = LARGEST_MEMBERS
    uncapped: frozenset[str] = frozenset()

    def of(self, recipient: Recipient) -> Pace:
        """Return the pace for a recipient."""
        is_capped = recipient.channel not in self.uncapped
        return self if is_capped else replace(self, largest_hourly=_UNCAPPED_HOURLY)

    @property
    def free_of_others(self) -> int:
        """How many changes that are not first may follow each other at once."""
        return (self._largest_of_others + 1) // 2

    @property
    def _largest_of_others(self) -> int:
        return self.largest_hourly - self.largest_hourly // 4

    def room(self, traffic: RecipientTraffic, now: datetime) -> int:
        """Return how many changes may go now of those that are not first.

        Reminders delay none until their common share is used up.
        """
        most, others = self._largest_of_others, _others(traffic)
        reminders = Counter(traffic.reminders)
        changes = [each for each in others if not _is_one_of(each, reminders)]
        left = min(self._left(traffic, now), most - len(within_the_hour(others, now)))
        return max(0, min(left, self._spaced(changes, now, most)))

    def room_for_first(self, traffic: RecipientTraffic, now: datetime) -> int:
        """Return how many first messages about incidents, and critical ones, may go now."""
        spaced = self._spaced(traffic.first, now, self.largest_hourly)
        return max(0, min(self._left(traffic, now), spaced))

    def _left(self, traffic: RecipientTraffic, now: datetime) -> int:
        return self.largest_hourly - len(within_the_hour(traffic.recent, now))

    def has_room_for_reminders(self, traffic: RecipientTraffic, now: datetime) -> bool:
        """Return whether a message of reminders may go now.

        They take at most half of the hour's messages, and never the last quarter.
        """
        taken = len(within_the_hour(traffic.recent, now))
        reminders = len(within_the_hour(traffic.reminders, now))
        is_fair = taken < self.largest_hourly * 3 // 4 and reminders < self.largest_hourly // 2
        return is_fair and self._spaced(_others(traffic), now, self._largest_of_others) > 0

    def opens_at(
        self, traffic: RecipientTraffic, now: datetime, precedence: Precedence = Precedence.CHANGE
    ) -> datetime:
        """Return when the next notification of a precedence may go if nothing else does."""
        recent = within_the_hour(traffic.recent, now)
        gaps = (
            each + _gap(many, most)
            for most in (self.largest_hourly, self._largest_of_others)
            for each in recent
            for many in range((most + 1) // 2, len(recent) + 1)
        )
        moments = sorted({now, *gaps, *(each + HOUR for each in recent)})

        def is_open(at: datetime) -> bool:
            if precedence is Precedence.REMINDER:
                return self.has_room_for_reminders(traffic, at)
            is_first = precedence <= Precedence.OPENING
            return (self.room_for_first if is_first else self.room)(traffic, at) > 0

        return next((at for at in moments if at >= now and is_open(at)), now)

    @staticmethod
    def _spaced(recent: Sequence[datetime], now: datetime, most: int) -> int:
        within = within_the_hour(recent, now)
        free = (most + 1) // 2
        if len(within) < free:
            return free - len(within)
        return int(now - within[-1] >= _gap(len(within), most))

    def urgent_room(self, recent: Sequence[datetime], now: datetime) -> int:
        """Return how many urgent ones may go now, after those that went at the `recent` times.

        Beyond the cap one a minute goes, so that no storm of what is urgent is a flood of messages.
        """
        within = within_the_hour(recent, now)
        if len(within) < self.largest_hourly:
            return self.largest_hourly - len(within)
        return int(now - within[-1] >= _BETWEEN_URGENT)


def _others(traffic: RecipientTraffic) -> list[datetime]:
    """Return when something went that was not the first message about an incident."""
    first = Counter(traffic.first)
    return [each for each in traffic.recent if not _is_one_of(each, first)]


def _gap(sent: int, most: int) -> timedelta:
    """Return the least time between the last of so many within an hour and the next."""
    spaced = most // 2
    place = sent - (most - spaced)
    if place >= spaced:
        return HOUR
    return _SPACED * (1 << place) / ((1 << spaced) - 1)


def precedence_of(transition: Transition, severity: str, *, is_first: bool) -> Precedence:
    """Return the place of a change among others; `is_first`: it opens its incident."""
    if not transition.after.is_open:
        return Precedence.RESOLVED
    if severity == Severity.CRITICAL:
        return Precedence.CRITICAL
    if is_first:
        return Precedence.OPENING
    return Precedence.CHANGE if transition.subject.tx_hash is not None else Precedence.NETWORK


def precedence_of_kind(kind: NotificationKind, severity: str) -> Precedence:
    """Return the place of what is said of an incident itself.

    An escalation is what its readers hear of the incident first.
    """
    match kind:
        case NotificationKind.REMINDER:
            return Precedence.REMINDER
        case NotificationKind.ESCALATION:
            is_critical = severity == Severity.CRITICAL
            return Precedence.CRITICAL if is_critical else Precedence.OPENING
        case NotificationKind.RESOLVED | NotificationKind.CLOSED:
            return Precedence.RESOLVED
        case _:
            return Precedence.CHANGE


def _is_one_of(moment: datetime, left: Counter[datetime]) -> bool:
    """Whether a moment is one of those that are left, of which it is then taken."""
    left[moment] -= 1
    return left[moment] >= 0


def within_the_hour(times: Sequence[datetime], now: datetime) -> list[datetime]:
    """Leave out what is older, and what lies ahead: the clock was set back."""
    return [each for each in times if now - HOUR < each <= now]
