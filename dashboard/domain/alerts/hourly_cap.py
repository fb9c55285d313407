"""The hourly cap: how many notifications a recipient gets in an hour, and what goes first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.notification import Delay, NotificationKind, Precedence, Recipient
from dashboard.domain.alerts.rule import Severity

LARGEST_HOURLY: Final = 12
LARGEST_MEMBERS: Final = 5_000
"""Transitions that one notification groups at most, so that its attachment stays below a few
megabytes."""

_UNCAPPED_HOURLY: Final = 1_000_000

HOUR: Final = timedelta(hours=1)
LATE_AFTER: Final = timedelta(minutes=2)
"""A notification that is overdue by this much was delayed by a cap or an outage, and is merged."""

FEW: Final = 3
"""How many messages are tried in turn for a recipient who accepts none."""

_LONGER_TRIAL: Final = timedelta(minutes=10)
"""How long until one more message is tried, in case the first few are the cause; doubles each time.
"""

_BETWEEN_URGENT: Final = timedelta(minutes=1)
_SPACED: Final = timedelta(minutes=50)
"""The time over which the second half of an hour's notifications is spread."""


class OpenNotification(Struct, frozen=True):
    """A notification that is not closed, so it still takes in members.

    `position` orders it by its first member. It is due at `release_at`. `is_of_network`: it is
    about no transaction. `incident_id` is None if the incident is not known. `was_held`: quiet
    hours or maintenance held it until `release_at`. `was_capped`: the store knows that the cap held
    it back.
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
    was_capped: bool = False

    @property
    def is_digest(self) -> bool:
        """Whether it is a digest, which is never merged."""
        return self.kind is NotificationKind.DIGEST

    @property
    def is_reminder(self) -> bool:
        """Whether nothing changed since the recipient was last notified."""
        return self.kind is NotificationKind.REMINDER


class Closing(Struct, frozen=True):
    """Open notifications that become one message, the first of them; its members are now fixed.

    `delay` says why it is late, None if it is not.
    """

    notification_id: UUID
    merged: tuple[UUID, ...] = ()
    delay: Delay | None = None


class Gone(Struct, frozen=True):
    """A notification that was sent to a recipient."""

    at: datetime
    precedence: Precedence = Precedence.CHANGE
    is_urgent: bool = False


class RecipientTraffic(Struct, frozen=True):
    """What was sent to a recipient: `recent` in the last hour, in order.

    `waiting` counts the closed notifications that are not delivered yet, the newest closed at
    `latest`.
    """

    recent: Sequence[Gone] = ()
    waiting: int = 0
    latest: datetime | None = None

    def is_stuck(self, now: datetime) -> bool:
        """Whether so many messages wait to be delivered that all others stay open."""
        if self.waiting < FEW or self.latest is None:
            return False
        trial = _LONGER_TRIAL * (1 << min(self.waiting - FEW, 10))
        return timedelta() <= now - self.latest < trial

    def with_gone(self, gone: Sequence[OpenNotification], now: datetime) -> RecipientTraffic:
        """Return the traffic after these notifications were sent now."""
        went = [Gone(now, each.precedence, each.is_urgent) for each in gone]
        return replace(self, recent=[*self.recent, *went])


class HourlyCap(Struct, frozen=True):
    """How many notifications a recipient gets within an hour.

    Openings of incidents and critical notifications come first: only reaching the cap delays them.
    Other changes take at most a quarter of the hour's number; reminders take at most half, and
    never the last quarter. Half of each share may be sent at once. After that the wait between
    messages doubles, so that a storm of any length is reported in full and the hour still ends
    below the cap. The cap is for people: programs behind the `uncapped` channels get everything at
    once.
    """

    largest_hourly: int = LARGEST_HOURLY
    largest_members: int = LARGEST_MEMBERS
    uncapped: frozenset[str] = frozenset()

    def of(self, recipient: Recipient) -> HourlyCap:
        """Return the cap that applies to a recipient."""
        is_capped = recipient.channel not in self.uncapped
        return self if is_capped else replace(self, largest_hourly=_UNCAPPED_HOURLY)

    def room(self, traffic: RecipientTraffic, now: datetime, precedence: Precedence) -> int:
        """Return how many of a precedence may be sent now; reminders are one message."""
        recent = within_the_hour(traffic.recent, now)
        left = self.largest_hourly - len(recent)
        if precedence <= Precedence.OPENING:
            first = [each for each in recent if each.precedence <= Precedence.OPENING]
            return max(0, min(left, _spaced(first, now, self.largest_hourly)))
        others = [each for each in recent if each.precedence > Precedence.OPENING]
        reminders = [each for each in others if each.precedence is Precedence.REMINDER]
        if precedence is Precedence.REMINDER:
            most = self._largest_together
            is_fair = len(recent) < most and len(reminders) < max(1, self.largest_hourly // 2)
            return int(is_fair and _spaced(others, now, most) > 0)
        changes = [
            each
            for each in others
            if not (each.is_urgent or each.precedence is Precedence.REMINDER)
        ]
        return max(0, min(left, _spaced(changes, now, self._largest_of_changes)))

    def urgent_room(self, traffic: RecipientTraffic, now: datetime) -> int:
        """Return how many urgent notifications may be sent now.

        Beyond the cap it is one a minute, so that a storm of urgent changes does not flood a
        recipient.
        """
        urgent = [each for each in within_the_hour(traffic.recent, now) if each.is_urgent]
        if len(urgent) < self.largest_hourly:
            return self.largest_hourly - len(urgent)
        return int(now - urgent[-1].at >= _BETWEEN_URGENT)

    def opens_at(
        self, traffic: RecipientTraffic, now: datetime, precedence: Precedence = Precedence.CHANGE
    ) -> datetime:
        """Return when the next notification of a precedence may be sent if no other is."""
        recent = within_the_hour(traffic.recent, now)
        gaps = (
            each.at + _gap(many, most)
            for most in (self.largest_hourly, self._largest_of_changes, self._largest_together)
            for each in recent
            for many in range(_at_once(most), len(recent) + 1)
        )
        moments = sorted({now, *gaps, *(each.at + HOUR for each in recent)})
        later = (at for at in moments if at >= now and self.room(traffic, at, precedence))
        return next(later, now)

    @property
    def _largest_of_changes(self) -> int:
        return max(1, self.largest_hourly // 4)

    @property
    def _largest_together(self) -> int:
        """How many messages may be sent in an hour before reminders have to wait."""
        return max(1, self.largest_hourly * 3 // 4)


def _spaced(recent: Sequence[Gone], now: datetime, most: int) -> int:
    """Return how many messages may follow `recent` now if `most` are allowed within an hour."""
    free = _at_once(most)
    if len(recent) < free:
        return free - len(recent)
    return int(now - recent[-1].at >= _gap(len(recent), most))


def _at_once(most: int) -> int:
    return max(1, most // 2)


def _gap(sent: int, most: int) -> timedelta:
    """Return the shortest wait after `sent` messages within an hour, if `most` are allowed."""
    free = _at_once(most)
    if sent >= most:
        return HOUR
    return _SPACED * (1 << (sent - free)) / ((1 << (most - free)) - 1)


def precedence_of(transition: Transition, severity: str, *, is_first: bool) -> Precedence:
    """Return the precedence of a change; `is_first`: it opens its incident."""
    if not transition.after.is_open:
        return Precedence.RESOLVED
    if severity == Severity.CRITICAL:
        return Precedence.CRITICAL
    if is_first:
        return Precedence.OPENING
    return Precedence.CHANGE if transition.subject.tx_hash is not None else Precedence.NETWORK


def precedence_of_kind(kind: NotificationKind, severity: str) -> Precedence:
    """Return the precedence of a message about an incident itself.

    An escalation counts as an opening: its readers hear of the incident for the first time. So does
    a hand-over: nobody acts until its new owner reads it.
    """
    match kind:
        case NotificationKind.REMINDER:
            return Precedence.REMINDER
        case NotificationKind.ESCALATION | NotificationKind.HANDED_OVER:
            is_critical = severity == Severity.CRITICAL
            return Precedence.CRITICAL if is_critical else Precedence.OPENING
        case NotificationKind.RESOLVED | NotificationKind.CLOSED:
            return Precedence.RESOLVED
        case _:
            return Precedence.CHANGE


def within_the_hour(recent: Sequence[Gone], now: datetime) -> list[Gone]:
    """Return what was sent in the last hour, without future times that a wrong clock left."""
    return [each for each in recent if now - HOUR < each.at <= now]
