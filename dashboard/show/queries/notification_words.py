"""Where a notification stands and what it tells, in words alike on the page and in commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import counted
from dashboard.domain.notification import Notification, NotificationKind, NotificationState
from dashboard.domain.notification_pace import Pace, RecipientTraffic
from dashboard.domain.verification import Verification, mail_state
from dashboard.show.text import moment_near
from dashboard.store.alerts.alert_status import NotificationCounts

_LONGEST_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a pending notification waits for, as seen at `now`.

    `traffic` is what went to its recipient and what waits for them, None where it gathers still.
    """

    now: datetime
    pace: Pace
    traffic: RecipientTraffic | None = None


def gathers(notification: Notification, now: datetime) -> bool:
    """Whether a notification takes in more changes, since its time has not come."""
    return _is_open(notification) and not _is_due(notification, now)


def waits_to_close(notification: Notification, now: datetime) -> bool:
    """Whether its time has come, and it has yet to be claimed."""
    return _is_open(notification) and _is_due(notification, now)


def standing_words(notification: Notification, waiting: Waiting) -> str:
    """Say when it was sent, or what it waits for; empty where its state says all."""
    match notification.state:
        case NotificationState.SENT:
            sent_at = notification.sent_at
            return "" if sent_at is None else moment_near(sent_at, waiting.now)
        case NotificationState.DEAD:
            return f"after {attempts_words(notification.attempts)}"
        case NotificationState.HELD:
            return "since a restore"
        case NotificationState.PENDING:
            return _pending_words(notification, waiting)


def reported_words(notification: Notification, states: Sequence[str] = ()) -> str:
    """Say in short what it reports: what changed, or why it is sent though nothing did.

    `states` are all that it reports, where these are several.
    """
    transition = notification.transition
    if not notification.is_of_changes:
        return str(notification.kind)
    is_update = transition.before is transition.after
    first = "record changed" if is_update else str(transition.after)
    return ", ".join(dict.fromkeys((first, *states)))


def verification_words(verification: Verification, now: datetime) -> str:
    """Say when a verification mail was sent, or what it waits for, after how many attempts."""
    attempts = attempts_words(verification.attempts)
    if verification.sent_at is not None:
        return moment_near(verification.sent_at, now)
    if mail_state(verification, now) is NotificationState.DEAD:
        return f"after {attempts}"
    next_at = verification.next_attempt_at
    if not verification.attempts or next_at is None:
        return "for its first attempt"
    return f"{attempts}, next not before {moment_near(next_at, now)}"


def notifications_are(many: int) -> str:
    """Begin a sentence about so many notifications."""
    return counted(many, "notification is", "notifications are")


def pending_changes_words(counts: NotificationCounts) -> str:
    """Say how many changes are not turned into notifications yet, empty where all are."""
    many = counts.pending_changes
    changes = counted(many, "change is", "changes are")
    them = "it" if many == 1 else "them"
    return f"{changes} pending: the worker makes notifications of {them}." if many else ""


def attempts_words(count: int) -> str:
    """Count attempts."""
    return counted(count, "attempt")


def _pending_words(notification: Notification, waiting: Waiting) -> str:
    now, due_at = waiting.now, notification.next_attempt_at
    if notification.attempts:
        next_one = "" if due_at is None else f", next not before {moment_near(due_at, now)}"
        return f"{attempts_words(notification.attempts)}{next_one}"
    if gathers(notification, now) and notification.release_at is not None:
        until = moment_near(notification.release_at, now)
        why = visible(notification.held_for, _LONGEST_REASON)
        return f"held until {until} ({why})" if why else f"gathers until {until}"
    if waiting.traffic is not None and waiting.traffic.waiting:
        return "waits until earlier ones are delivered"
    if waiting.traffic is not None:
        is_reminder = notification.kind is NotificationKind.REMINDER
        at = waiting.pace.opens_at(waiting.traffic, now, for_reminders=is_reminder)
        if at > now:
            cap = f"the cap of {waiting.pace.largest_hourly:,} an hour"
            return f"waits for {cap}, until {moment_near(at, now)}"
    return "for its first attempt"


def _is_open(notification: Notification) -> bool:
    is_pending = notification.state is NotificationState.PENDING
    return is_pending and notification.closed_at is None and not notification.attempts


def _is_due(notification: Notification, now: datetime) -> bool:
    return notification.release_at is None or notification.release_at <= now
