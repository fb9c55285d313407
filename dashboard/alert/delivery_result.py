"""One attempt to hand a notification over, and what is written down of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from dashboard.alert.delivery_retry import RetryRule, is_over
from dashboard.alert.message import Channel, Envelope, Letter, MaySend
from dashboard.domain.foreign_text import visible
from dashboard.domain.notification import DeliveryResult, Notification
from dashboard.errors import DeliveryBlocked, DeliveryError, DeliveryRefused, DeliveryWithheld
from dashboard.logs import get_logger
from dashboard.store.alerts import outbox
from dashboard.store.engine.connection import Connection

Composer: TypeAlias = Callable[[Notification], Letter]
"""Writes the letter of a notification."""

_log = get_logger("delivery")


@dataclass(frozen=True, slots=True)
class Outcome:
    """An attempt that is over; `words` are the channel's answer, or the error.

    `is_blocked` says that another letter to the same recipient would have fared no better;
    `wait` is how long the notification waits where it was deferred.
    """

    notification: Notification
    result: DeliveryResult
    words: str
    is_blocked: bool = False
    wait: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Sending:
    """How letters are written and who carries them."""

    channels: Mapping[str, Channel]
    compose: Composer


def attempt(notification: Notification, sending: Sending, may_send: MaySend) -> Outcome | None:
    """Hand the notification over; every error becomes an outcome, since nobody waits to catch it.

    None where it may not be sent any more: then nothing was tried.
    """
    try:
        return Outcome(notification, DeliveryResult.SENT, _send(notification, sending, may_send))
    except DeliveryWithheld:
        return None
    except DeliveryRefused as error:
        return Outcome(notification, DeliveryResult.REFUSED, str(error))
    except DeliveryError as error:
        is_blocked = isinstance(error, DeliveryBlocked)
        return Outcome(notification, DeliveryResult.DEFERRED, str(error), is_blocked)
    except Exception as error:  # noqa: BLE001 - the top of a lane: one notification must not end it
        _log.exception(
            "a notification cannot be sent", notification=str(notification.notification_id)
        )
        words = f"unexpected {type(error).__name__}; see the log"
        return Outcome(notification, DeliveryResult.DEFERRED, words)


def _send(notification: Notification, sending: Sending, may_send: MaySend) -> str:
    if not may_send():
        raise DeliveryWithheld("the lease of this worker is over")
    channel = sending.channels.get(notification.recipient.channel)
    if channel is None:
        raise DeliveryBlocked(
            f"no channel {notification.recipient.channel} is configured; see [mail]"
        )
    address, date = notification.recipient.address, notification.created_at
    envelope = Envelope(notification.message_id, address, date, notification.in_reply_to)
    return channel.send(sending.compose(notification), envelope, may_send)


def record(
    connection: Connection, outcome: Outcome, now: datetime, rule: RetryRule
) -> DeliveryResult:
    """Write an outcome down; what was deferred for too long counts as refused."""
    notification = outcome.notification
    if outcome.result is DeliveryResult.SENT:
        outbox.mark_sent(connection, notification.notification_id, outcome.words, now)
        return DeliveryResult.SENT
    if outcome.result is DeliveryResult.DEFERRED and not is_over(notification, now, rule):
        outbox.reschedule(connection, notification, outcome.words, now + outcome.wait)
        return DeliveryResult.DEFERRED
    outbox.mark_dead(connection, notification, outcome.words, now)
    return DeliveryResult.REFUSED


def tell(outcome: Outcome, result: DeliveryResult) -> None:
    """Log an attempt that failed, with what the channel said; `result` is what was recorded."""
    if result is DeliveryResult.SENT:
        return
    is_dead = result is DeliveryResult.REFUSED
    say = _log.error if is_dead else _log.warning
    say(
        "a notification was given up" if is_dead else "a notification was deferred",
        notification=str(outcome.notification.notification_id),
        recipient=visible(outcome.notification.recipient.address),
        words=visible(outcome.words),
    )
