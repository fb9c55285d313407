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
    """Somebody to tell: an address that the channel of that name understands."""

    channel: str
    address: str


class NotificationState(StrEnum):
    """What became of a notification. DEAD: refused for good or deferred for too long; it is kept.

    HELD: pending in a backup that was restored, so it may have been sent; it waits for a person.
    """

    PENDING = "pending"
    SENT = "sent"
    DEAD = "dead"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Notification:
    """What one recipient is to get because of one transition.

    `message_id` is fixed for good, so that a repeat is recognised. `attempts` counts finished
    tries of its own. `claimed_by` is the fencing token under which it was claimed last. `outcome`
    is the channel's last word: its answer when sent, else the error. `incident` is what it belongs
    to, and `in_reply_to` the message that opened it, where this one did not.
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
    """What became of one attempt."""

    SENT = "sent"
    DEFERRED = "deferred"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt to hand a notification over; `outcome` is the channel's answer, or the error."""

    attempted_at: datetime
    result: DeliveryResult
    outcome: str
