"""The pace of notifications: how many a recipient gets in an hour, and what is merged into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.notification import Delay, NotificationKind, Precedence, Recipient
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.alerts.rule_keys import MAIL

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
    def _largest_of_others(self) -> int:
        return self.largest_hourly - self.largest_hourly // 4

    def room(self, traffic: RecipientTraffic, now: datetime) -> int:
        """Return how many changes may go now of those that are not first.

        Reminders delay none until their common share is used up.
        """
        most, others = self._largest_of_others, _others(traffic)
        reminders = Counter(traffic.reminders)
        changes = [each for each in others if not _is_one_of(each, reminders)]
        left = min(self._left(traffic, now), most - len(_within_the_hour(others, now)))
        return max(0, min(left, self._spaced(changes, now, most)))

    def room_for_first(self, traffic: RecipientTraffic, now: datetime) -> int:
        """Return how many first messages about incidents, and critical ones, may go now."""
        spaced = self._spaced(traffic.first, now, self.largest_hourly)
        return max(0, min(self._left(traffic, now), spaced))

    def _left(self, traffic: RecipientTraffic, now: datetime) -> int:
        return self.largest_hourly - len(_within_the_hour(traffic.recent, now))

    def has_room_for_reminders(self, traffic: RecipientTraffic, now: datetime) -> bool:
        """Return whether a message of reminders may go now.

        They take at most half of the hour's messages, and never the last quarter.
        """
        taken = len(_within_the_hour(traffic.recent, now))
        reminders = len(_within_the_hour(traffic.reminders, now))
        is_fair = taken < self.largest_hourly * 3 // 4 and reminders < self.largest_hourly // 2
        return is_fair and self._spaced(_others(traffic), now, self._largest_of_others) > 0

    def opens_at(
        self, traffic: RecipientTraffic, now: datetime, precedence: Precedence = Precedence.CHANGE
    ) -> datetime:
        """Return when the next notification of a precedence may go if nothing else does."""
        recent = _within_the_hour(traffic.recent, now)
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
        within = _within_the_hour(recent, now)
        free = (most + 1) // 2
        if len(within) < free:
            return free - len(within)
        return int(now - within[-1] >= _gap(len(within), most))

    def urgent_room(self, recent: Sequence[datetime], now: datetime) -> int:
        """Return how many urgent ones may go now, after those that went at the `recent` times.

        Beyond the cap one a minute goes, so that no storm of what is urgent is a flood of messages.
        """
        within = _within_the_hour(recent, now)
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


def plan_closings(
    due: Sequence[OpenNotification],
    traffic: RecipientTraffic,
    now: datetime,
    pace: Pace,
    *,
    is_back: bool = False,
) -> list[Closing]:
    """Return which of the due notifications of one recipient go now, and what is merged into one.

    `due` is in order of position. What is urgent goes at once, by itself, up to as many an hour as
    all others, and then what there is once a minute. The rest goes in order of precedence: as many
    by themselves as there is room for, first messages about incidents apart from all others; the
    last that goes takes all that are like it. So does the first, where the cap held up two or
    more. Reminders are one message; a digest goes by
    itself, when nothing else does. Where two or more waited for the end of quiet hours or
    maintenance, or for a server that `is_back` or is tried again, there is one message of
    everything. Nothing goes while enough waits to be delivered.
    """
    if traffic.is_stuck(now):
        return []
    due_at = {each.notification_id: each.release_at for each in due}
    delay = _why_late(traffic, now, pace, is_back=is_back)
    return [
        replace(each, delay=delay) if now - due_at[each.notification_id] > LATE_AFTER else each
        for each in _planned(due, traffic, now, pace, is_back=is_back)
    ]


def expected_at(
    due: Sequence[OpenNotification], traffic: RecipientTraffic, now: datetime, pace: Pace
) -> dict[UUID, datetime]:
    """Return when each due notification of one recipient goes if nothing else is added meanwhile.

    What nobody can tell yet, or only for later than an hour, is missing.
    """
    found: dict[UUID, datetime] = {}
    waiting, at = list(due), now
    while waiting and at <= now + HOUR:
        closings = plan_closings(waiting, traffic, at, pace)
        gone = {id_ for each in closings for id_ in (each.notification_id, *each.merged)}
        heads = {each.notification_id for each in closings}
        traffic = traffic.with_gone([each for each in waiting if each.notification_id in heads], at)
        found |= dict.fromkeys(gone, at)
        waiting = [each for each in waiting if each.notification_id not in gone]
        opens = [pace.opens_at(traffic, at, rank) for rank, _ in _ranked(waiting)]
        later = [each for each in opens if each > at]
        if not (gone or later):
            break
        at = min(later, default=at)
    return found


def _why_late(traffic: RecipientTraffic, now: datetime, pace: Pace, *, is_back: bool) -> Delay:
    if is_back or traffic.waiting:
        return Delay.SERVER
    taken = len(_within_the_hour(traffic.recent, now))
    return Delay.CAP if taken >= pace.largest_hourly // 2 else Delay.WORKER


def _planned(
    due: Sequence[OpenNotification],
    traffic: RecipientTraffic,
    now: datetime,
    pace: Pace,
    *,
    is_back: bool,
) -> list[Closing]:
    urgent = [each for each in due if each.is_urgent]
    closings = _fitted(urgent, pace.urgent_room(traffic.urgent, now), pace)
    ranked = _ranked([each for each in due if not (each.is_urgent or each.is_digest)])
    usual = [each for _, each in ranked]
    rest = [each for each in usual if not each.is_reminder]
    first = [each for rank, each in ranked if rank <= Precedence.OPENING]
    traffic = traffic.after(len(closings), now, are_first=True)
    room = pace.room_for_first(traffic, now) if first else pace.room(traffic, now)
    waited = sum(is_back or each.was_held for each in usual)
    if rest and waited > 1 and rest[0].recipient.channel == MAIL:
        return closings + (_summary(usual, pace) if room else [])
    late = sum(is_back or each.was_held or now - each.release_at > LATE_AFTER for each in rest)
    if late > 1:
        going, others = _fitted(rest, min(room, 1), pace), []
    else:
        going = _fitted(first, room, pace)
        traffic = traffic.after(len(going), now, are_first=True)
        others = _fitted(rest[len(first) :], pace.room(traffic, now), pace)
    closings += going + others
    traffic = traffic.after(len(going if late > 1 else others), now)
    reminders = [each for each in usual if each.is_reminder]
    if reminders and pace.has_room_for_reminders(traffic, now):
        closings += _fitted(reminders, 1, pace)
    digests = [each for each in due if each.is_digest]
    if digests and not closings and pace.room(traffic, now):
        closings = [Closing(digests[0].notification_id)]
    return closings


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


def _ranked(due: Sequence[OpenNotification]) -> list[tuple[Precedence, OpenNotification]]:
    """Put first what is to go first, each with its place.

    What came earlier in an incident goes before what follows in it, whatever that is; networks go
    before others.
    """
    soonest: dict[UUID | None, Precedence] = {}
    ranked: list[tuple[Precedence, OpenNotification]] = []
    for each in reversed(due):
        rank = min(each.precedence, soonest.get(each.incident_id, each.precedence))
        if each.incident_id is not None:
            soonest[each.incident_id] = rank
        ranked.append((rank, each))
    ranked.sort(key=lambda pair: (pair[0], not pair[1].is_of_network, pair[1].position))
    return ranked


def _summary(due: Sequence[OpenNotification], pace: Pace) -> list[Closing]:
    """Let all go as one mail, which is of the first change; what is said of incidents joins it.

    Programs behind other channels get messages of one kind.
    """
    ordered = sorted(due, key=lambda each: each.kind is not NotificationKind.CHANGE)
    first, *others = _within(ordered, pace.largest_members)
    return [Closing(first, tuple(others))]


def _fitted(due: Sequence[OpenNotification], room: int, pace: Pace) -> list[Closing]:
    """Let as many go by themselves as there is room for, the last of them with all of its kind.

    A message on rejections names no change of a network, nor the other way round.
    """
    if room == 0 or not due:
        return []
    alone = len(due) if len(due) <= room else room - 1
    closings = [Closing(each.notification_id) for each in due[:alone]]
    if due[alone:]:
        last = due[alone]
        alike = [
            each
            for each in due[alone:]
            if each.kind is last.kind and each.is_of_network is last.is_of_network
        ]
        first, *others = _within(alike, pace.largest_members)
        closings.append(Closing(first, tuple(others)))
    return closings


def _is_one_of(moment: datetime, left: Counter[datetime]) -> bool:
    """Whether a moment is one of those that are left, of which it is then taken."""
    left[moment] -= 1
    return left[moment] >= 0


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
