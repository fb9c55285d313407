"""One attempt to deliver a notification, and how its result is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from dashboard.alert.delivery_retry import RetryRule, is_over
from dashboard.alert.message import Channel, MaySend, Message, MessageHeaders
from dashboard.domain.foreign_text import visible
from dashboard.domain.notification import DeliveryResult, Notification
from dashboard.errors import DeliveryBlocked, DeliveryError, DeliveryRefused, DeliveryWithheld
from dashboard.logs import get_logger
from dashboard.store.alerts import notification_claims
from dashboard.store.engine.connection import Connection

Composer: TypeAlias = Callable[[Notification], Message]
"""Writes the message of a notification."""

_log = get_logger("delivery")


@dataclass(frozen=True, slots=True)
class FinishedAttempt:
    """An attempt that is over; `answer` is the channel's, or the error.

    `is_blocked`: another message to the same recipient would have failed as well. `wait` is how
    long the notification waits where it was deferred, `retry_after` how long the other side asked
    for.
    """

    notification: Notification
    result: DeliveryResult
    answer: str
    is_blocked: bool = False
    wait: timedelta = timedelta()
    retry_after: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Sending:
    """How messages are written, and the channels that send them, by name."""

    channels: Mapping[str, Channel]
    compose: Composer


def attempt(
    notification: Notification, sending: Sending, may_send: MaySend
) -> FinishedAttempt | None:
    """Send the message; every error becomes a result, since it runs in a thread of its own.

    None where it may not be sent any more: then nothing was tried.
    """
    try:
        answer = _send(notification, sending, may_send)
        return FinishedAttempt(notification, DeliveryResult.SENT, answer)
    except DeliveryWithheld:
        return None
    except DeliveryRefused as error:
        return FinishedAttempt(notification, DeliveryResult.REFUSED, str(error))
    except DeliveryError as error:
        retry_after = error.retry_after if isinstance(error, DeliveryBlocked) else None
        return FinishedAttempt(
            notification,
            DeliveryResult.DEFERRED,
            str(error),
            isinstance(error, DeliveryBlocked),
            retry_after=retry_after or timedelta(),
        )
    except Exception:  # noqa: BLE001 - the top of a thread: one notification must not end it
        _log.exception(
            "a notification cannot be sent", notification=str(notification.notification_id)
        )
        answer = "an unexpected error; see the log"
        return FinishedAttempt(notification, DeliveryResult.DEFERRED, answer)


def _send(notification: Notification, sending: Sending, may_send: MaySend) -> str:
    if not may_send():
        raise DeliveryWithheld("the lease of this worker expired")
    channel = sending.channels.get(notification.recipient.channel)
    if channel is None:
        raise DeliveryBlocked(
            f"no channel {notification.recipient.channel} is configured; see [channels]"
        )
    headers = MessageHeaders(
        notification.message_id,
        notification.recipient.address,
        notification.dated,
        notification.in_reply_to,
        notification.thread,
    )
    return channel.send(sending.compose(notification), headers, may_send)


def record(
    connection: Connection, finished: FinishedAttempt, now: datetime, rule: RetryRule
) -> DeliveryResult:
    """Record an attempt; one deferred for too long is refused, so its notification is dead."""
    notification = finished.notification
    if notification.attempts == 0:
        notification_claims.note_first_attempt(connection, notification.notification_id, now)
    if finished.result is DeliveryResult.SENT:
        notification_claims.mark_sent(
            connection, notification.notification_id, finished.answer, now
        )
        return DeliveryResult.SENT
    if finished.result is DeliveryResult.DEFERRED and not is_over(notification, now, rule):
        notification_claims.reschedule(
            connection, notification, finished.answer, now + finished.wait
        )
        return DeliveryResult.DEFERRED
    notification_claims.mark_dead(connection, notification, finished.answer, now)
    return DeliveryResult.REFUSED


def log_failure(finished: FinishedAttempt, result: DeliveryResult) -> None:
    """Log an attempt that failed, with the answer; `result` is what was recorded."""
    if result is DeliveryResult.SENT:
        return
    is_dead = result is DeliveryResult.REFUSED
    log = _log.error if is_dead else _log.warning
    log(
        "a notification is dead" if is_dead else "a notification was deferred",
        notification=str(finished.notification.notification_id),
        recipient=visible(finished.notification.recipient.address),
        answer=visible(finished.answer),
    )
