"""A message as an Internet message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.alert.channels.mime import parse_sender, write_message
from dashboard.alert.message import Message
from dashboard.errors import DeliveryBlocked, InputError
from tests.recording_channel import MESSAGE, SENDER, some_headers

FROM = parse_sender(SENDER)


def test_message_has_the_headers_of_an_automatic_message() -> None:
    mail = write_message(MESSAGE, some_headers(7), FROM)

    assert dict(mail.items()) | {"Content-Type": ""} == {
        "From": "Linewatch <linewatch@example.org>",
        "To": "oncall@example.org",
        "Subject": "[Linewatch] Rejected",
        "Date": "Fri, 20 Nov 2026 12:00:00 +0000",
        "Message-ID": "<00000000-0000-0000-0000-000000000007@linewatch.invalid>",
        "Auto-Submitted": "auto-generated",
        "MIME-Version": "1.0",
        "Content-Type": "",
    }


def test_message_that_opens_no_thread_names_the_one_that_did() -> None:
    opening = some_headers(7).message_id
    reply = replace(some_headers(8), in_reply_to=opening)

    mail = write_message(MESSAGE, reply, FROM)

    assert (mail["In-Reply-To"], mail["References"]) == (opening, opening)


def test_message_holds_plain_text_with_html_as_its_alternative() -> None:
    mail = write_message(MESSAGE, some_headers(), FROM)

    assert mail.get_content_type() == "multipart/alternative"
    plain, html = mail.iter_parts()
    assert plain.get_content().replace("\r\n", "\n") == MESSAGE.text
    assert html.get_content().replace("\r\n", "\n") == MESSAGE.html


def test_same_message_is_the_same_bytes_at_every_attempt() -> None:
    first, second = (write_message(MESSAGE, some_headers(), FROM).as_bytes() for _ in range(2))

    assert first == second


def test_message_travels_over_seven_bit_servers() -> None:
    message = Message("Rejected (0x2d6a…800e)", "Grüße …\n", "<p>Grüße …</p>\n")

    assert write_message(message, some_headers(), FROM).as_bytes().isascii()


def test_subject_with_line_breaks_adds_no_header() -> None:
    message = Message("Hello\r\nBcc: evil@example.org", "text", "html")

    mail = write_message(message, some_headers(), FROM)

    assert mail["Bcc"] is None
    assert mail["Subject"] == "Hello\\u000d\\u000aBcc: evil@example.org"


@pytest.mark.parametrize(
    "address", ["", "oncall", "a@b\r\nBcc: c@d", "a@b, c@d", "<a@b>", "grüße@example.org", '"a']
)
def test_recipient_that_is_no_address_waits_for_a_correction(address: str) -> None:
    with pytest.raises(DeliveryBlocked, match="is no mail address; correct recipients"):
        write_message(MESSAGE, some_headers(to=address), FROM)


def test_sender_that_is_no_address_is_told_at_the_start() -> None:
    with pytest.raises(InputError, match="'linewatch' is no mail address; correct sender"):
        parse_sender("linewatch")
