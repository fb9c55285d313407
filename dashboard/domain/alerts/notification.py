"""Notifications: what a recipient is to get because of transitions, until it is delivered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import IntEnum, StrEnum
from typing import Final
from uuid import UUID

from dashboard.domain.alerts.condition import Opening, Transition
from dashboard.domain.alerts.incident import Incident, NotifiedChange
from dashboard.domain.people.active_hours import DAYS
from dashboard.domain.quantity import shorten
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.errors import InputError

NO_DOMAIN: Final = "linewatch.invalid"
"""The domain of Message-IDs if no sender lends its own; nobody can ever own it (RFC 2606)."""

FIRST_MEMBERS: Final = 20
"""Members that the text of a message names."""

_FORM: Final = re.compile(
    r"(?:daily|weekly (?P<day>[a-z]{3})) (?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)", re.ASCII
)
_LONGEST: Final = 40
_DAYS_BACK: Final = 15
"""Within these a time of the week came even if the clocks skipped it once."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """Who is notified: an address of the channel of that name."""

    channel: str
    address: str


class NotificationState(StrEnum):
    """Where a notification stands. DEAD: refused for good or deferred for too long; it is kept.

    HELD: pending in a backup that was restored, so it may have been sent; it waits for a person.
    """

    PENDING = "pending"
    SENT = "sent"
    DEAD = "dead"
    HELD = "held"


class NotificationKind(StrEnum):
    """Why a notification is made: something changed, nobody acted, somebody did, or it was time.

    CLOSED: the rule of an incident that was notified reports it no more, as somebody decided.
    SUMMARY: several of these reasons, of incidents that did not change since.
    """

    CHANGE = "change"
    REMINDER = "reminder"
    ESCALATION = "escalation"
    CLOSED = "closed"
    ACKNOWLEDGED = "acknowledged"
    HANDED_OVER = "handed over"
    UNACKNOWLEDGED = "unacknowledged"
    RESOLVED = "resolved"
    DIGEST = "digest"
    SUMMARY = "summary"


class Precedence(IntEnum):
    """Which of several notifications a recipient gets first: the lowest, then the earliest.

    CRITICAL: something critical is open. OPENING: the first of an incident. NETWORK: another
    change of a network. CHANGE: any other. RESOLVED: it is over. REMINDER: nothing changed.
    """

    CRITICAL = 0
    OPENING = 1
    NETWORK = 2
    CHANGE = 3
    RESOLVED = 4
    REMINDER = 5


class Delay(StrEnum):
    """Why a notification went later than it was due.

    SERVER: nothing could be delivered to its recipient. CAP: they had got as many as an hour has.
    WORKER: none was running, or it was busy.
    """

    SERVER = "server"
    CAP = "cap"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Notification:
    """What one recipient is to get because of one transition, or of several that were grouped.

    `transition`, `rejection` and `opening` are those of its first member; `opening` is the
    transition with which the condition opened that this one changes or ends. Of the others only
    the `member_count` is known here; `all_members` of `store/alerts/notifications.py` reads them.
    `incident` is what they belong to, None if that is more than one.

    It groups members until a worker claims it first, at `closed_at`: from then on members,
    `message_id` and `in_reply_to` never change, so that a repeated message is recognised and says
    the same. `in_reply_to` is the Message-ID that it answers, empty if it opens a thread, and
    `thread` all those before it there, the first one first, with blanks between. It is
    not claimed before `release_at`, so that followers can join.

    Only one of kind CHANGE has members: else `transition` is the last of its incident.

    `held_for` says what held it back until `release_at`, such as ``quiet hours of the rule night``:
    foreign text, empty if nothing did. `held_by` names that, and the `Delay` after it, with
    blanks between.

    `attempts` counts finished attempts. `claimed_by` is the fencing token of the last claim.
    `outcome` is the channel's last answer, or the error.
    """

    notification_id: UUID
    message_id: str
    recipient: Recipient
    transition: Transition
    rejection: StoredRejection | None
    created_at: datetime
    state: NotificationState = NotificationState.PENDING
    attempts: int = 0
    next_attempt_at: datetime | None = None
    claimed_by: int | None = None
    sent_at: datetime | None = None
    outcome: str = ""
    opening: Opening | None = None
    in_reply_to: str = ""
    thread: str = ""
    incident: Incident | None = None
    member_count: int = 1
    release_at: datetime | None = None
    closed_at: datetime | None = None
    kind: NotificationKind = NotificationKind.CHANGE
    held_for: str = ""
    held_by: str = ""

    @property
    def delay(self) -> Delay | None:
        """Why it went later than it was due; None if it did not, or if nobody knows."""
        return next((each for each in Delay if each in self.held_by.split()), None)

    @property
    def first(self) -> NotifiedChange:
        opened_at = None if self.opening is None else self.opening.opened_at
        return NotifiedChange(self.transition, self.rejection, opened_at)

    @property
    def is_grouped(self) -> bool:
        """Whether it reports more than one transition."""
        return self.member_count > 1

    @property
    def is_of_changes(self) -> bool:
        """Whether something changed, which is its reason."""
        return self.kind is NotificationKind.CHANGE

    @property
    def ends_incidents(self) -> bool:
        """Whether it says that a person resolved incidents, or changed their rule."""
        return self.kind in {NotificationKind.CLOSED, NotificationKind.RESOLVED}

    @property
    def is_of_incidents(self) -> bool:
        """Whether it is about several incidents themselves, no change of which is a member."""
        is_of_one = self.kind in {NotificationKind.CHANGE, NotificationKind.DIGEST}
        return not is_of_one and self.incident is None

    @property
    def dated(self) -> datetime:
        """The date of its message: when its membership was fixed."""
        return self.closed_at or self.created_at


class DeliveryResult(StrEnum):
    """The result of one delivery attempt."""

    SENT = "sent"
    DEFERRED = "deferred"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt to deliver a notification; `outcome` is the channel's answer, or the error."""

    attempted_at: datetime
    result: DeliveryResult
    outcome: str


@dataclass(frozen=True, slots=True)
class DigestTime:
    """A time of every day, or of one day of every week, which counts from Monday as 0."""

    hour: int
    minute: int
    weekday: int | None = None

    @classmethod
    def parse(cls, text: str) -> DigestTime:
        """Read ``daily 08:00`` or ``weekly mon 08:00``; InputError for another form."""
        match = _FORM.fullmatch(text.strip().lower()[:_LONGEST])
        day = None if match is None else match["day"]
        if match is None or not (day is None or day in DAYS):
            raise InputError(
                f"{shorten(text)} is no time of a digest: write daily 08:00 or weekly mon 08:00"
            )
        weekday = None if day is None else DAYS.index(day)
        return cls(int(match["hour"]), int(match["minute"]), weekday)

    def __str__(self) -> str:
        often = "daily" if self.weekday is None else f"weekly {DAYS[self.weekday]}"
        return f"{often} {self.hour:02d}:{self.minute:02d}"

    @property
    def is_weekly(self) -> bool:
        return self.weekday is not None

    def latest(self, now: datetime, zone: tzinfo) -> datetime:
        """Return when it came last, in UTC; an hour that clocks skip comes after they are set."""
        today = now.astimezone(zone).date()
        days = (today - timedelta(days=back) for back in range(_DAYS_BACK))
        moments = (
            datetime.combine(day, time(self.hour, self.minute), zone).astimezone(UTC)
            for day in days
            if self.weekday in {None, day.weekday()}
        )
        return next(each for each in moments if each <= now)
