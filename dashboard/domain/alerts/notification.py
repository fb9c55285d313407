"""Notifications: what a recipient gets because of transitions, and its way to delivery."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import IntEnum, StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct

from dashboard.domain.alerts.condition import Opening, Transition
from dashboard.domain.alerts.incident import Incident, NotifiedChange
from dashboard.domain.people.active_hours import DAYS
from dashboard.domain.quantity import shorten
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.errors import InputError

NO_DOMAIN: Final = "linewatch.invalid"
"""The domain of Message-IDs if no sender address provides one; nobody can ever own it (RFC 2606).
"""

FIRST_MEMBERS: Final = 20
"""How many members the text of a message names."""

_FORM: Final = re.compile(
    r"(?:daily|weekly (?P<day>[a-z]{3})) (?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)", re.ASCII
)
_LONGEST: Final = 40
_DAYS_BACK: Final = 15
"""Within this many days a time of the week occurs even if the clocks skip it once."""


class Recipient(Struct, frozen=True):
    """Who is notified: an address, and the name of its channel."""

    channel: str
    address: str


class NotificationState(StrEnum):
    """The state of a notification. DEAD: refused for good or deferred for too long; it is kept.

    HELD: pending in a backup that was restored, so it may have been sent; a person decides.
    """

    PENDING = "pending"
    SENT = "sent"
    DEAD = "dead"
    HELD = "held"


class NotificationKind(StrEnum):
    """Why a notification is made: something changed, nobody acted, somebody did, or it was time.

    CLOSED: the rule was changed by a person and no longer reports an incident that people heard of.
    SUMMARY: several of these reasons, for incidents that did not change since.
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
    """Why a notification was sent later than it was due.

    SERVER: nothing could be delivered to its recipient. CAP: the recipient had reached the hourly
    cap. WORKER: none was running, or it was busy.
    """

    SERVER = "server"
    CAP = "cap"
    WORKER = "worker"


class Notification(Struct, frozen=True):
    """What one recipient gets because of one transition, or of several that were grouped.

    `transition`, `rejection` and `opening` belong to its first member; `opening` is the transition
    that opened the condition which this one changes or ends. The other members are only counted
    here (`member_count`); `all_members` of `store/alerts/notifications.py` reads them. `incident`
    is the incident of all members, None if there are several.

    It takes in members until a worker first claims it, at `closed_at`: after that, members,
    `message_id` and `in_reply_to` never change, so that a repeated message is recognised and says
    the same. `in_reply_to` is the Message-ID that it answers, empty if it opens a thread; `thread`
    holds all earlier ones of the thread, oldest first, with blanks between. It is not claimed
    before `release_at`, so that followers can join.

    Only notifications of kind CHANGE have members; for the others, `transition` is the last one of
    their incident.

    `held_for` says what held it until `release_at`, such as ``quiet hours of the rule night``:
    foreign text, empty if nothing did. `held_by` holds the keys of what held it, and its `Delay`,
    with blanks between.

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
        """Why it was late; None if it was not, or if nobody knows."""
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
        """Whether it reports changes, rather than something about an incident."""
        return self.kind is NotificationKind.CHANGE

    @property
    def ends_incidents(self) -> bool:
        """Whether it says that a person resolved incidents, or changed their rule."""
        return self.kind in {NotificationKind.CLOSED, NotificationKind.RESOLVED}

    @property
    def is_of_incidents(self) -> bool:
        """Whether it is about several incidents themselves, without members."""
        is_of_one = self.kind in {NotificationKind.CHANGE, NotificationKind.DIGEST}
        return not is_of_one and self.incident is None

    @property
    def dated(self) -> datetime:
        """The date of its message: when its members were fixed."""
        return self.closed_at or self.created_at


class DeliveryResult(StrEnum):
    """The result of one delivery attempt."""

    SENT = "sent"
    DEFERRED = "deferred"
    REFUSED = "refused"


class DeliveryAttempt(Struct, frozen=True):
    """One attempt to deliver a notification; `outcome` is the channel's answer, or the error."""

    attempted_at: datetime
    result: DeliveryResult
    outcome: str


class DigestTime(Struct, frozen=True):
    """A time every day, or on one weekday, counted from Monday as 0."""

    hour: int
    minute: int
    weekday: int | None = None

    @classmethod
    def parse(cls, text: str) -> DigestTime:
        """Parse ``daily 08:00`` or ``weekly mon 08:00``; InputError for any other form."""
        match = _FORM.fullmatch(text.strip().lower()[:_LONGEST])
        day = None if match is None else match["day"]
        if match is None or not (day is None or day in DAYS):
            raise InputError(
                f"{shorten(text)} is not a digest time: write daily 08:00 or weekly mon 08:00"
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
        """Return when it was last due, in UTC; a time that the clocks skip is due right after."""
        today = now.astimezone(zone).date()
        days = (today - timedelta(days=back) for back in range(_DAYS_BACK))
        moments = (
            datetime.combine(day, time(self.hour, self.minute), zone).astimezone(UTC)
            for day in days
            if self.weekday in {None, day.weekday()}
        )
        return next(each for each in moments if each <= now)
