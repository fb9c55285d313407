"""One attempt to hand a notice over, and what is written down of it."""

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
"""Writes the letter of a notice."""

_log = get_logger("delivery")


@dataclass(frozen=True, slots=True)
class Outcome:
    """An attempt that is over; `words` are the channel's answer, or the error.

    `is_blocked` says that another letter to the same recipient would have fared no better;
    `wait` is how long the notice waits where it was deferred.
    """

    notice: Notification
    result: DeliveryResult
    words: str
    is_blocked: bool = False
    wait: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Sending:
    """How letters are written and who carries them."""

    channels: Mapping[str, Channel]
    compose: Composer


def attempt(notice: Notification, sending: Sending, may_send: MaySend) -> Outcome | None:
    """Hand the notice over; every error becomes an outcome, since nobody waits to catch it.

    None where it may not be sent any more: then nothing was tried.
    """
    try:
        return Outcome(notice, DeliveryResult.SENT, _send(notice, sending, may_send))
    except DeliveryWithheld:
        return None
    except DeliveryRefused as error:
        return Outcome(notice, DeliveryResult.REFUSED, str(error))
    except DeliveryError as error:
        is_blocked = isinstance(error, DeliveryBlocked)
        return Outcome(notice, DeliveryResult.DEFERRED, str(error), is_blocked)
    except Exception as error:  # noqa: BLE001 - the top of a lane: one notice must not end it
        _log.exception("a notice cannot be sent", notice=str(notice.notice_id))
        words = f"unexpected {type(error).__name__}; see the log"
        return Outcome(notice, DeliveryResult.DEFERRED, words)


def _send(notice: Notification, sending: Sending, may_send: MaySend) -> str:
    if not may_send():
        raise DeliveryWithheld("the lease of this worker is over")
    channel = sending.channels.get(notice.recipient.channel)
    if channel is None:
        raise DeliveryBlocked(f"no channel {notice.recipient.channel} is configured; see [mail]")
    address, date = notice.recipient.address, notice.created_at
    envelope = Envelope(notice.message_id, address, date, notice.in_reply_to)
    return channel.send(sending.compose(notice), envelope, may_send)


def record(
    connection: Connection, outcome: Outcome, now: datetime, rule: RetryRule
) -> DeliveryResult:
    """Write an outcome down; what was deferred for too long counts as refused."""
    notice = outcome.notice
    if outcome.result is DeliveryResult.SENT:
        outbox.mark_sent(connection, notice.notice_id, outcome.words, now)
        return DeliveryResult.SENT
    if outcome.result is DeliveryResult.DEFERRED and not is_over(notice, now, rule):
        outbox.reschedule(connection, notice, outcome.words, now + outcome.wait)
        return DeliveryResult.DEFERRED
    outbox.mark_dead(connection, notice, outcome.words, now)
    return DeliveryResult.REFUSED


def tell(outcome: Outcome, result: DeliveryResult) -> None:
    """Log an attempt that failed, with what the channel said; `result` is what was recorded."""
    if result is DeliveryResult.SENT:
        return
    is_dead = result is DeliveryResult.REFUSED
    say = _log.error if is_dead else _log.warning
    say(
        "a notice was given up" if is_dead else "a notice was deferred",
        notice=str(outcome.notice.notice_id),
        recipient=visible(outcome.notice.recipient.address),
        words=visible(outcome.words),
    )
