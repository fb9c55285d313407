"""Verification: an address is sent nothing before somebody has confirmed it."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b32encode
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.notification import (
    DeliveryAttempt,
    DeliveryResult,
    NotificationState,
    Recipient,
)
from dashboard.domain.formatting import span
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

VALID_FOR: Final = timedelta(days=3)
"""How long after the request its link and its code are valid."""

MOST_REQUESTS: Final = 3
"""Verification mails to one address in a day, so that nobody can flood a stranger."""

MOST_HOURLY: Final = 20
"""Verification mails to all addresses together in an hour."""

MOST_WRONG_CODES: Final = 5
MOST_ATTEMPTS: Final = 12
"""Attempts to deliver one verification mail."""

_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_LONGEST_WAIT: Final = timedelta(hours=1)
_CODE_LENGTH: Final = 8
_CONTEXT: Final = b"linewatch verification 1:"
_CONTEXT_OF_MAIL: Final = b"linewatch verification mail 1:"
"""Both contexts separate codes and ids from other uses of the same key."""

_ASK_AGAIN: Final = "`linewatch recipients verify ADDRESS` sends a new one"


class Verification(Struct, frozen=True):
    """The state of verifying an address.

    The latest verification mail was requested at `requested_at`, None if there was none; `requests`
    counts the requests since `counted_from`. The mail is next tried at `next_attempt_at`, None if
    it was sent or refused; `outcome` is the last answer of the mail server. `deliveries` are the
    finished attempts of all mails, oldest first. `wrong_codes` counts wrong codes since the
    request. `verified_by` is the name of the person who confirmed it: foreign text.
    """

    recipient: Recipient
    requested_at: datetime | None = None
    counted_from: datetime | None = None
    requests: int = 0
    wrong_codes: int = 0
    attempts: int = 0
    next_attempt_at: datetime | None = None
    sent_at: datetime | None = None
    outcome: str = ""
    verified_at: datetime | None = None
    verified_by: str = ""
    deliveries: tuple[DeliveryAttempt, ...] = ()


def request_mail(before: Verification, recently: Iterable[datetime], now: datetime) -> Verification:
    """Request a new verification mail, whose code replaces the one before.

    `recently` are the times of the latest requests for all addresses. InputError if the address is
    already verified, or if there were too many requests.
    """
    address = shorten(before.recipient.address)
    if before.verified_at is not None:
        raise InputError(f"{address} is verified already")
    counted_from, requests = before.counted_from, before.requests
    if counted_from is None or now - counted_from >= _DAY:
        counted_from, requests = now, 0
    if requests >= MOST_REQUESTS:
        wait = span(counted_from + _DAY - now)
        raise InputError(f"{address} was sent {requests} verification mails: try again in {wait}")
    if room_for_mails(recently, now) <= 0:
        raise InputError(
            f"{MOST_HOURLY} verification mails were asked for within an hour: try again in an hour"
        )
    return Verification(
        before.recipient,
        now,
        counted_from,
        requests + 1,
        next_attempt_at=now,
        deliveries=before.deliveries,
    )


def room_for_mails(recently: Iterable[datetime], now: datetime) -> int:
    """Return how many verification mails may be requested now, given the latest requests."""
    return MOST_HOURLY - sum(now - each < _HOUR for each in recently)


def attempted(verification: Verification, now: datetime) -> Verification:
    """Count an attempt before it is made, so that a crash during it cannot repeat for ever."""
    attempts = verification.attempts + 1
    wait = min(timedelta(minutes=1) * (1 << attempts), _LONGEST_WAIT)
    later = now + wait if attempts < MOST_ATTEMPTS else None
    return replace(verification, attempts=attempts, next_attempt_at=later)


def delivered(
    verification: Verification, requested_at: datetime | None, attempt: DeliveryAttempt
) -> Verification:
    """Record a finished attempt; it settles the latest mail if `requested_at` is that mail's.

    Only as many attempts are kept as the mails of one day can take.
    """
    logged = (*verification.deliveries, attempt)[-MOST_REQUESTS * MOST_ATTEMPTS :]
    known = replace(verification, deliveries=logged)
    if verification.requested_at != requested_at:
        return known
    known = replace(known, outcome=attempt.outcome)
    if attempt.result is DeliveryResult.DEFERRED:
        return known
    sent_at = attempt.attempted_at if attempt.result is DeliveryResult.SENT else None
    return replace(known, sent_at=sent_at, next_attempt_at=None)


def code_of(verification: Verification, key: bytes) -> str:
    """Return the code of the latest mail, eight letters and digits that depend on the key."""
    return b32encode(_proof(_CONTEXT, verification, key)).decode()[:_CODE_LENGTH]


def mail_id_of(verification: Verification, key: bytes) -> UUID:
    """Return the id of the latest mail: the same at each attempt, and impossible to guess.

    Anybody who knew it could forge a bounce that turns the address off.
    """
    return UUID(bytes=_proof(_CONTEXT_OF_MAIL, verification, key)[:16])


def expires_at(verification: Verification) -> datetime | None:
    """Return when the link and the code of the latest mail expire; None if none was requested."""
    requested_at = verification.requested_at
    return None if requested_at is None else requested_at + VALID_FOR


def mail_state(verification: Verification, now: datetime) -> NotificationState:
    """Return the state of the latest verification mail, which must have been requested.

    It is dead if the server refused it, if no attempts are left, or if its link and its code
    expired before it was sent.
    """
    if verification.sent_at is not None:
        return NotificationState.SENT
    ends = expires_at(verification)
    is_over = verification.verified_at is not None or ends is None or now >= ends
    if verification.next_attempt_at is None or is_over:
        return NotificationState.DEAD
    return NotificationState.PENDING


def enter_code(verification: Verification, code: str, key: bytes, by: Actor) -> Verification:
    """Return the verification after a person entered a code: verified, or one more wrong code.

    InputError if codes are no longer accepted.
    """
    ends = expires_at(verification)
    address = shorten(verification.recipient.address)
    if verification.verified_at is not None:
        return verification
    if ends is None or by.at >= ends:
        raise InputError(f"no code for {address} is valid now: {_ASK_AGAIN}")
    if verification.wrong_codes >= MOST_WRONG_CODES:
        raise InputError(f"{MOST_WRONG_CODES} wrong codes were given for {address}: {_ASK_AGAIN}")
    given = code.strip().upper().replace("-", "").replace(" ", "")
    if hmac.compare_digest(given.encode("utf-8", "replace"), code_of(verification, key).encode()):
        return verified(verification, by)
    return replace(verification, wrong_codes=verification.wrong_codes + 1)


def verified(verification: Verification, by: Actor) -> Verification:
    """Mark an address as verified; a second time changes nothing."""
    if verification.verified_at is not None:
        return verification
    return replace(verification, verified_at=by.at, verified_by=by.name, next_attempt_at=None)


def _proof(context: bytes, verification: Verification, key: bytes) -> bytes:
    recipient = verification.recipient
    at = verification.requested_at
    requested = "" if at is None else at.isoformat(timespec="milliseconds")  # as stores keep it
    claims = f"{recipient.channel}:{recipient.address}:{requested}"
    return hmac.digest(key, context + claims.encode("utf-8", "replace"), hashlib.sha256)
