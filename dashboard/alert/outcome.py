"""One attempt to hand a notice over, and what is written down of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from dashboard.alert.letter import Channel, Envelope, Letter
from dashboard.alert.retry import RetryRule, next_attempt
from dashboard.domain.notice import Notice
from dashboard.errors import DeliveryDeferred, DeliveryError, DeliveryRefused
from dashboard.logs import get_logger
from dashboard.store import outbox
from dashboard.store.connection import Connection

Composer: TypeAlias = Callable[[Notice], Letter]
"""Writes the letter of a notice."""

_log = get_logger("delivery")


class Result(StrEnum):
    """What became of an attempt."""

    SENT = "sent"
    DEFERRED = "deferred"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An attempt that is over; `words` are the channel's answer, or the error."""

    notice: Notice
    result: Result
    words: str


def attempt(notice: Notice, channels: Mapping[str, Channel], compose: Composer) -> Outcome:
    """Hand the notice over; every error becomes an outcome, since nobody waits to catch it."""
    try:
        return Outcome(notice, Result.SENT, _send(notice, channels, compose))
    except DeliveryRefused as error:
        return Outcome(notice, Result.REFUSED, str(error))
    except DeliveryError as error:
        return Outcome(notice, Result.DEFERRED, str(error))
    except Exception as error:  # noqa: BLE001 - the top of a lane: one notice must not end it
        _log.exception("a notice cannot be sent", notice=str(notice.notice_id))
        return Outcome(notice, Result.DEFERRED, f"unexpected {type(error).__name__}; see the log")


def _send(notice: Notice, channels: Mapping[str, Channel], compose: Composer) -> str:
    channel = channels.get(notice.recipient.channel)
    if channel is None:
        raise DeliveryDeferred(f"no channel {notice.recipient.channel} is configured; see [mail]")
    address, date = notice.recipient.address, notice.created_at
    envelope = Envelope(notice.message_id, address, date, notice.in_reply_to)
    return channel.send(compose(notice), envelope)


def record(connection: Connection, outcome: Outcome, now: datetime, rule: RetryRule) -> Result:
    """Write an outcome down; what was deferred for too long counts as refused."""
    notice = outcome.notice
    if outcome.result is Result.SENT:
        outbox.mark_sent(connection, notice.notice_id, outcome.words, now)
        return Result.SENT
    again_at = next_attempt(notice, now, rule)
    if outcome.result is Result.DEFERRED and again_at is not None:
        outbox.defer(connection, notice, outcome.words, again_at)
        return Result.DEFERRED
    outbox.bury(connection, notice, outcome.words, now)
    return Result.REFUSED
