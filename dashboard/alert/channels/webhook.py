"""Signed webhooks (Standard Webhooks): a JSON object for programs, which can check who sent it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from dashboard.alert.channels.http_to_public_addresses import (
    HttpRequest,
    HttpRules,
    HttpTarget,
    exchange,
    judge,
)
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.domain.quantity import Clock
from dashboard.domain.secret import Secret
from dashboard.errors import InputError

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - a prefix is not a secret
LARGEST_PART: Final = 64 * 1024
"""Bytes of changes in one request: with the text it stays below 100 kB, which all usual receivers
accept, while a whole digest may have several megabytes."""

_SHORTEST: Final = 24
_LONGEST: Final = 64
"""Bytes of a secret, as Standard Webhooks requires."""


def parse_signing_secret(secret: Secret) -> bytes:
    """Return the key of a secret; InputError, which does not show it, if it is invalid."""
    text = secret.reveal()
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(SECRET_PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise InputError(
            f"is not a webhook secret: write {SECRET_PREFIX} and {_SHORTEST} to {_LONGEST} "
            "random bytes in base64"
        )
    return key


def signature(keys: Sequence[bytes], webhook_id: str, at: datetime, body: bytes) -> str:
    """Sign the content with each key; the receiver needs to know only one of them."""
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
        """Contact nobody yet; InputError for an invalid secret."""
        self._target = target
        self._keys = [parse_signing_secret(each) for each in secrets]
        self._clock = clock
        self._rules = rules
        self._taken: dict[str, int] = {}

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Post one message, in parts if it is long; return the last answer.

        Raises as `judge` does, and DeliveryBlocked. The next attempt continues with the part that
        was not accepted; that of another process begins with the first one, under the same ids.
        """
        webhook_id, answer = webhook_id_of(headers), ""
        parts = parts_of(message.payload)
        for number in range(self._taken.get(webhook_id, 0), len(parts)):
            part_id = f"{webhook_id}-{number + 1}" if number else webhook_id
            answer = self._post(_json(parts[number]), part_id, may_send)
            self._taken[webhook_id] = number + 1
        self._taken.pop(webhook_id, None)
        return f"{answer}, {len(parts)} parts" if len(parts) > 1 else answer

    def _post(self, body: bytes, webhook_id: str, may_send: MaySend) -> str:
        request = HttpRequest(lambda: (body, self._headers(webhook_id, body)))
        return judge(exchange(self._target, request, self._rules, may_send))

    def _headers(self, webhook_id: str, body: bytes) -> dict[str, str]:
        at = self._clock()
        return {
            "Content-Type": "application/json",
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature(self._keys, webhook_id, at, body),
        }


def webhook_id_of(headers: MessageHeaders) -> str:
    """Return the id of a message: that of its notification, with which its Message-ID begins."""
    return headers.message_id.removeprefix("<").partition("@")[0]


def parts_of(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Split an object with many changes into several of the same form, each with some changes.

    The same changes are always split at the same places.
    """
    members = payload.get("data", {}).get("members", [])
    cuts, size = [0], 0
    for place, member in enumerate(members):
        size += len(_json(member)) + 1
        if size > LARGEST_PART and place > cuts[-1]:
            cuts.append(place)
            size = len(_json(member)) + 1
    if len(cuts) == 1:
        return [payload]
    return [
        _part(payload, members[begin:end], number, len(cuts))
        for number, (begin, end) in enumerate(pairwise([*cuts, len(members)]), start=1)
    ]


def _part(
    payload: Mapping[str, Any], members: Sequence[Mapping[str, Any]], number: int, count: int
) -> Mapping[str, Any]:
    mine = {**members[0], "part": number, "partCount": count, "members": members}
    return {**payload, "data": {**payload["data"], **mine}}


def _json(payload: Mapping[str, object]) -> bytes:
    return json.dumps(payload, ensure_ascii=True, separators=(",", ":")).encode()
