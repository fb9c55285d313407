"""Notifications: what a recipient is to get because of a transition, until it is delivered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from dashboard.domain.condition import Incident, Transition
from dashboard.domain.exclusion import StoredRejection


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


@dataclass(frozen=True, slots=True)
class Notification:
    """What one recipient is to get because of one transition.

    `message_id` never changes, so that a repeated message is recognised. `attempts` counts finished
    attempts. `claimed_by` is the fencing token of the last claim. `outcome` is the channel's last
    answer, or the error. `incident` is the incident that it belongs to, and `in_reply_to` the
    Message-ID that opened it, where this one did not.
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
    incident: Incident | None = None
    in_reply_to: str = ""


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
