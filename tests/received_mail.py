"""Mails as they arrive: every one is read back by the standard library's strict policy."""

from __future__ import annotations

import email
import email.policy
import re
from email.errors import MessageDefect, NonASCIILocalPartDefect
from email.message import EmailMessage
from pathlib import Path

_LONGEST_LINE = 998
_LONE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)")


def read_mail(content: bytes) -> EmailMessage:
    """Read a mail; AssertionError or an error of the parser where it is not as RFC 5322 asks."""
    assert _LONE_END.search(content) is None, "a line ends otherwise than with CR LF"
    assert max(map(len, content.split(b"\r\n"))) <= _LONGEST_LINE, "a line is too long"
    text = content.decode("utf-8")  # beyond ASCII only with SMTPUTF8 (RFC 6532)
    mail = email.message_from_string(text, policy=email.policy.strict)
    for part in mail.walk():
        assert not part.defects, part.defects
        for name, value in part.items():  # headers are parsed when they are read
            defects = [each for each in value.defects if text.isascii() or not _is_utf8(each)]
            assert not defects, (name, defects)
        if not part.is_multipart():
            part.get_content()
            assert not part.defects, part.defects
    assert [
        name for name in ("From", "To", "Subject", "Date", "Message-ID") if name not in mail
    ] == []
    return mail


def _is_utf8(defect: MessageDefect) -> bool:
    """Whether the standard library minds what RFC 6532 allows."""
    return isinstance(defect, NonASCIILocalPartDefect)


def mails_of(maildir: Path) -> list[EmailMessage]:
    """Read the mails of a Maildir that nobody has read, in the order of their names."""
    files = sorted((maildir / "new").glob("*"))
    return [read_mail(each.read_bytes()) for each in files]
