"""Mails as they arrive, and as they come back."""

from __future__ import annotations

import email
import email.policy
import re
from email.errors import MessageDefect, NonASCIILocalPartDefect
from email.message import EmailMessage
from pathlib import Path
from typing import Final

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


MESSAGE_ID: Final = "<00000000-0000-0000-0000-000000000001@linewatch.invalid>"


def bounced_mail(
    *,
    message_id: str = MESSAGE_ID,
    final: str = "ops@example.org",
    original: str = "",
    action: str = "failed",
    status: str = "5.1.1",
    diagnostic: str = "",
    headers_only: bool = False,
    report: str = "multipart/report; report-type=delivery-status",
) -> bytes:
    """Return a delivery status notification about one recipient."""
    fields = [f"Final-Recipient: rfc822; {final}", f"Action: {action}", f"Status: {status}"]
    if original:
        fields.insert(0, f"Original-Recipient: rfc822;{original}")
    if diagnostic:
        fields.append(f"Diagnostic-Code: {diagnostic}")
    kind = "text/rfc822-headers" if headers_only else "message/rfc822"
    lines = [
        "From: MAILER-DAEMON@mail.example",
        "To: linewatch@example.org",
        "Subject: Undelivered Mail Returned to Sender",
        "MIME-Version: 1.0",
        f'Content-Type: {report}; boundary="b"',
        "",
        *("--b", "Content-Type: text/plain", "", "It could not be delivered.", ""),
        *("--b", "Content-Type: message/delivery-status", "", "Reporting-MTA: dns; mail.example"),
        *("", *fields, ""),
        *("--b", f"Content-Type: {kind}", "", "From: linewatch@example.org"),
        *(f"Message-ID: {message_id}", "Subject: [Linewatch] Rejected", "", "", "--b--", ""),
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")
