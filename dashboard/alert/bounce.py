"""Read mails that say a message came back (delivery status notifications, RFC 3464)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Final, NamedTuple

from dashboard.alert.channels.smtp import is_no_mailbox
from dashboard.domain.markup import visible

LARGEST: Final = 1_000_000
"""Bytes of a mail that are read; what is larger is cut off."""

_MOST_PARTS: Final = 100
_MOST_GROUPS: Final = 100
_LARGEST_HEAD: Final = 16_000
"""Bytes of the headers of a mail or a part, or of the fields about a recipient, that are read.

The standard library takes minutes for a header of a megabyte.
"""

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_BOUNDARY: Final = re.compile(
    r"boundary\s*=\s*(?:\"(?P<quoted>[^\"]{1,200})\"|(?P<plain>[^\s;\"]{1,200}))", re.IGNORECASE
)
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
    mail = _cut(content[:LARGEST])
    if mail.kind != "multipart/report":
        return []
    parts = list(_parts(mail))
    message_id = next(_original_ids(parts), "")
    groups = [group for part in parts for group in _groups(part)]
    found = (_bounce(message_id, group) for group in groups) if message_id else ()
    return [each for each in found if each is not None]


class _Entity(NamedTuple):
    """A mail, or a part of one: its headers, and what follows them.

    Cut by hand: with many parts in each other, or many parameters, the parser of the standard
    library fails or takes minutes, and a stranger writes this.
    """

    head: Message
    body: bytes

    @property
    def kind(self) -> str:
        """Its media type in small letters, without parameters."""
        return self.head.get_content_type()


def _cut(content: bytes) -> _Entity:
    """Part the headers from the rest; a part without any begins with an empty line."""
    end = _HEAD_END.search(b"\n" + content)
    head = content if end is None else content[: max(end.start() - 1, 0)]
    body = b"" if end is None else content[end.end() - 1 :]
    return _Entity(_fields(head), body)


def _fields(head: bytes) -> Message:
    return BytesHeaderParser().parsebytes(head[:_LARGEST_HEAD])


def _parts(mail: _Entity) -> Iterator[_Entity]:
    """Yield the parts of a report, which have none of their own that matter."""
    if match := _BOUNDARY.search(_text(mail.head, "Content-Type")):
        boundary = (match["quoted"] or match["plain"]).encode("utf-8", "surrogateescape")
        line = re.compile(rb"^--%b(?:--)?[ \t]*\r?\n" % re.escape(boundary), re.MULTILINE)
        _, *parts = line.split(mail.body, _MOST_PARTS)
        yield from map(_cut, parts)


def _groups(part: _Entity) -> Iterator[Message]:
    """Yield the fields about each recipient; those about the whole message come first."""
    if part.kind == "message/delivery-status":
        for group in _HEAD_END.split(part.body.strip(), _MOST_GROUPS)[:_MOST_GROUPS]:
            fields = _fields(group.strip())
            if "Action" in fields:
                yield fields


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


def _original_ids(parts: list[_Entity]) -> Iterator[str]:
    """Yield the Message-IDs of what came back: the whole message, or its headers."""
    for part in parts:
        if part.kind in {"text/rfc822-headers", "message/rfc822"}:
            text = _text(_cut(part.body).head, "Message-ID")
            if match := _MESSAGE_ID.search(text):
                yield match[0]


def _text(part: Message, name: str) -> str:
    return " ".join(str(part.get(name, "")).split())
