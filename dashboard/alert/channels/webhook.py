"""Signed webhooks (Standard Webhooks): a JSON object for programs, which can check who sent it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from dashboard.alert.channels.http_answer import judge
from dashboard.alert.channels.http_exchange import (
    HttpRequest,
    HttpRules,
    HttpTarget,
    exchange,
)
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.domain.clock import Clock
from dashboard.domain.secret import Secret
from dashboard.errors import InputError

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what each secret begins with, and no secret
_SHORTEST: Final = 24
_LONGEST: Final = 64
"""Bytes of a secret, as Standard Webhooks wants them."""


def parse_signing_secret(secret: Secret) -> bytes:
    """Return the key of a secret; InputError, which does not show it, where it is none."""
    text = secret.reveal()
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(SECRET_PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise InputError(
            f"is no secret of a webhook: write {SECRET_PREFIX} and {_SHORTEST} to {_LONGEST} "
            "random bytes in base64"
        )
    return key


def signature(keys: Sequence[bytes], webhook_id: str, at: datetime, body: bytes) -> str:
    """Sign what is sent with each key; the receiver is content with one that it knows."""
    signed = f"{webhook_id}.{int(at.timestamp())}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(each).decode()}" for each in digests)


class WebhookChannel:
    """Posts messages to one address, each signed with every secret.

    The id of a message is the same at every attempt, so that a repeat is recognised; its time is
    that of the attempt, since receivers refuse old ones.
    """

    def __init__(
        self, target: HttpTarget, secrets: Sequence[Secret], clock: Clock, rules: HttpRules
    ) -> None:
        """Ask nothing yet; InputError where a secret is none."""
        self._target = target
        self._keys = [parse_signing_secret(each) for each in secrets]
        self._clock = clock
        self._rules = rules

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Post one message; returns the answer. Raises as `judge` does, and DeliveryBlocked."""
        body = _json(message.facts)
        request = HttpRequest(lambda: (body, self._headers(headers, body)))
        return judge(exchange(self._target, request, self._rules, may_send))

    def _headers(self, headers: MessageHeaders, body: bytes) -> dict[str, str]:
        webhook_id, at = webhook_id_of(headers), self._clock()
        return {
            "Content-Type": "application/json",
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature(self._keys, webhook_id, at, body),
        }


def webhook_id_of(headers: MessageHeaders) -> str:
    """Return the id of a message: that of its notification, which its Message-ID begins with."""
    return headers.message_id.removeprefix("<").partition("@")[0]


def _json(facts: Mapping[str, object]) -> bytes:
    return json.dumps(facts, ensure_ascii=True, separators=(",", ":")).encode()
