"""Read mails that say a message came back (delivery status notifications, RFC 3464)."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage, Message
from typing import Final

from dashboard.alert.channels.smtp_reply import is_no_mailbox
from dashboard.domain.foreign_text import visible

LARGEST: Final = 1_000_000
"""Bytes of a mail that are read; what is larger is cut off."""

_MOST_PARTS: Final = 100
_MESSAGE_ID: Final = re.compile(r"<[!-;=?-~]{1,190}>", re.ASCII)
_ADDRESS: Final = re.compile(r"(?:rfc822|utf-8)\s*;\s*<?([^\s<>;]{1,320})>?", re.IGNORECASE)
_STATUS: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}", re.ASCII)
_CODE: Final = re.compile(r"\b(5\d\d)\b[ -]?(.*)", re.ASCII)
_DISABLED: Final = "5.2.1"
"""The mailbox is there, and takes nothing any more."""

_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Bounce:
    """A message that came back for good: which, from which addresses, and what the server said.

    All of it is foreign: anybody can write such a mail. `addresses` are in small letters.
    """

    message_id: str
    addresses: frozenset[str]
    why: str


def read_bounces(content: bytes) -> list[Bounce]:
    """Return what a mail says came back for good, once for each recipient; none for other mails.

    Only what says that there is no such mailbox is for good: a full one, a filter or a limit may
    be corrected, and an alert that is not sent is worse than one that comes back.
    """
    mail = email.message_from_bytes(content[:LARGEST], policy=email.policy.compat32)
    if mail.get_content_type() != "multipart/report":
        return []
    parts = [part for _, part in zip(range(_MOST_PARTS), mail.walk(), strict=False)]
    message_id = next(_original_ids(parts), "")
    groups = [group for part in parts for group in _groups(part)]
    found = (_bounce(message_id, group) for group in groups) if message_id else ()
    return [each for each in found if each is not None]


def _groups(part: Message) -> Iterator[Message]:
    """Yield the fields about each recipient; those about the whole message come first."""
    if part.get_content_type() == "message/delivery-status":
        payload = part.get_payload()
        for group in payload if isinstance(payload, list) else ():
            if isinstance(group, Message) and "Action" in group:
                yield group


def _bounce(message_id: str, group: Message) -> Bounce | None:
    if _text(group, "Action").lower() != "failed" or not _is_for_good(group):
        return None
    named = (_text(group, name) for name in ("Final-Recipient", "Original-Recipient"))
    addresses = {match[1].lower() for text in named if (match := _ADDRESS.match(text))}
    why = _text(group, "Diagnostic-Code") or _text(group, "Status")
    return Bounce(message_id, frozenset(addresses), visible(why, _LONGEST))


def _is_for_good(group: Message) -> bool:
    """Whether a status, or the server's own words behind it, says that there is no such mailbox."""
    status = _STATUS.search(_text(group, "Status"))
    if status is None or not status[0].startswith("5."):
        return False
    if status[0] == _DISABLED or is_no_mailbox((550, status[0])):
        return True
    said = _CODE.search(_text(group, "Diagnostic-Code"))
    return said is not None and is_no_mailbox((int(said[1]), said[2]))


def _original_ids(parts: list[Message]) -> Iterator[str]:
    """Yield the Message-IDs of what came back: the whole message, or its headers."""
    for part in parts:
        text = ""
        if part.get_content_type() == "text/rfc822-headers":
            payload = part.get_payload(decode=True)
            headers = payload if isinstance(payload, bytes) else b""
            text = _text(email.message_from_bytes(headers, EmailMessage), "Message-ID")
        elif part.get_content_type() == "message/rfc822":
            inner = part.get_payload()
            if isinstance(inner, list) and inner and isinstance(inner[0], Message):
                text = _text(inner[0], "Message-ID")
        if match := _MESSAGE_ID.search(text):
            yield match[0]


def _text(part: Message, name: str) -> str:
    return " ".join(str(part.get(name, "")).split())
