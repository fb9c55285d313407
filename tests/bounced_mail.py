"""Mails that say a message came back, as mail servers write them."""

from __future__ import annotations

from typing import Final

MESSAGE_ID: Final = "<00000000-0000-0000-0000-000000000001@linewatch.invalid>"


def bounced_mail(  # noqa: PLR0913 - one for each field
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
