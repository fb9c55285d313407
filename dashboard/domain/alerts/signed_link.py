"""Signed links in messages: what their recipient may do to which incident, and until when."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct

from dashboard.domain.alerts.notification import Recipient

KEY_LENGTH: Final = 32
"""Bytes of the key of an installation."""

ACTION_VALID_FOR: Final = timedelta(days=7)
"""How long after its notification an incident can be acknowledged or silenced by link."""

UNSUBSCRIBE_VALID_FOR: Final = timedelta(days=366)
"""Long, because mail programs offer to unsubscribe for as long as they keep a message."""

_CONTEXT: Final = b"linewatch link 1:"
"""Separates our signatures from others that are made with the same key."""

_TOKEN: Final = re.compile(r"(?P<claims>[\w-]{1,4000})\.(?P<proof>[\w-]{43})", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LinkPurpose(StrEnum):
    """What a link lets its recipient do."""

    ACKNOWLEDGE = "acknowledge"
    SILENCE = "silence"
    UNSUBSCRIBE = "unsubscribe"
    VERIFY = "verify"


class LinkFault(StrEnum):
    """Why a link cannot be used."""

    FORGED = "forged"
    EXPIRED = "expired"


class SignedLink(Struct, frozen=True):
    """The content of a link; `incident_id` is None if it is about the recipient alone."""

    purpose: LinkPurpose
    recipient: Recipient
    expires_at: datetime
    incident_id: UUID | None = None


def sign(link: SignedLink, key: bytes) -> str:
    """Sign a link and encode it for a URL; the same link and key give the same text.

    Its expiry is rounded down to the second.
    """
    claims = [
        link.purpose.value,
        link.recipient.channel,
        link.recipient.address,
        (link.expires_at - _EPOCH) // timedelta(seconds=1),
        "" if link.incident_id is None else link.incident_id.hex,
    ]
    text = _encode(json.dumps(claims, separators=(",", ":")).encode())
    return f"{text}.{_proof(text, key)}"


def read_link(text: str, key: bytes, now: datetime) -> SignedLink | LinkFault:
    """Return the link that was signed with this key, or why it cannot be used."""
    match = _TOKEN.fullmatch(text)
    if match is None or not hmac.compare_digest(_proof(match["claims"], key), match["proof"]):
        return LinkFault.FORGED
    claims = match["claims"]
    padded = claims + "=" * (-len(claims) % 4)
    purpose, channel, address, seconds, incident = json.loads(urlsafe_b64decode(padded))
    link = SignedLink(
        LinkPurpose(purpose),
        Recipient(channel, address),
        _EPOCH + timedelta(seconds=seconds),
        UUID(hex=incident) if incident else None,
    )
    return link if now < link.expires_at else LinkFault.EXPIRED


def _proof(claims: str, key: bytes) -> str:
    return _encode(hmac.digest(key, _CONTEXT + claims.encode(), hashlib.sha256))


def _encode(octets: bytes) -> str:
    return urlsafe_b64encode(octets).decode().rstrip("=")
