"""A message as an Internet message."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.alert.channels.mime import one_line, parse_sender, write_mail
from dashboard.alert.message import Attachment, InlineImage, Message, MessageHeaders
from dashboard.domain.people.recipients import MailAddress
from dashboard.errors import DeliveryBlocked, InputError
from tests.received_mail import read_mail
from tests.recording_channel import MESSAGE, SENDER, some_headers

FROM = parse_sender(SENDER)
ANY_TEXT = st.text(alphabet=st.characters(), max_size=400)
"""Any character, control characters and halves of pairs included."""

SUBJECT_WORDS = (
    "ADD",
    "over",
    "1.29",
    "×",
    "·",
    "0x2d6a…800e",
    "Zürich",
    "=?utf-8?q?a?=",
    "例" * 60,
)
LAID_OUT = replace(
    MESSAGE,
    attachments=(Attachment("linewatch.csv", "text/csv", "hash,label\r\n0x2d6a,ä\r\n".encode()),),
    images=(InlineImage("chart.7@example.org", b"\x89PNG\r\n\x1a\n"),),
)


def received(
    message: Message = MESSAGE,
    headers: MessageHeaders | None = None,
    sender: MailAddress = FROM,
) -> EmailMessage:
    """Return the mail as its reader gets it."""
    return read_mail(write_mail(message, headers or some_headers(), sender).as_bytes())


def test_message_has_the_headers_of_an_automatic_message() -> None:
    mail = received(headers=some_headers(7))

    assert dict(mail.items()) | {"Content-Type": ""} == {
        "From": "Linewatch <linewatch@example.org>",
        "To": "oncall@example.org",
        "Subject": "[Linewatch] Rejected",
        "Date": "Fri, 20 Nov 2026 12:00:00 +0000",
        "Message-ID": "<00000000-0000-0000-0000-000000000007@linewatch.invalid>",
        "List-Id": "Linewatch <alerts.example.org>",
        "Auto-Submitted": "auto-generated",
        "MIME-Version": "1.0",
        "Content-Type": "",
    }


@pytest.mark.parametrize(
    ("scheme", "one_click"), [("https", "List-Unsubscribe=One-Click"), ("http", None)]
)
def test_address_to_unsubscribe_arrives_whole_and_one_click_needs_https(
    scheme: str, one_click: str | None
) -> None:
    address = f"{scheme}://watch.example/link/{'A' * 300}.{'b' * 43}"
    message = replace(MESSAGE, unsubscribe=address)

    raw = write_mail(message, some_headers(), FROM).as_bytes()

    assert f"\r\nList-Unsubscribe: <{address}>\r\n".encode() in raw
    assert read_mail(raw)["List-Unsubscribe-Post"] == one_click


def test_address_that_no_header_can_hold_is_left_out() -> None:
    mail = received(replace(MESSAGE, unsubscribe=f"https://watch.example/{'A' * 900}"))

    assert "List-Unsubscribe" not in mail


def test_message_that_opens_no_thread_names_the_one_that_did() -> None:
    opening = some_headers(7).message_id
    reply = replace(some_headers(8), in_reply_to=opening)

    mail = received(headers=reply)

    assert (mail["In-Reply-To"], mail["References"]) == (opening, opening)
    later = received(headers=replace(reply, thread=f"<first@a.example> {opening}"))
    assert later["References"] == f"<first@a.example> {opening}"


def test_ids_below_a_long_domain_arrive_whole() -> None:
    first, second = (f"<{number * 36}@{'a' * 63}.{'b' * 63}.example.org>" for number in "12")

    mail = received(headers=replace(some_headers(), message_id=first, in_reply_to=second))

    assert (mail["Message-ID"], mail["In-Reply-To"], mail["References"]) == (first, second, second)


def test_message_holds_plain_text_with_html_as_its_alternative() -> None:
    mail = received()

    assert mail.get_content_type() == "multipart/alternative"
    plain, html = mail.iter_parts()
    assert plain.get_content().replace("\r\n", "\n") == MESSAGE.text
    assert html.get_content().replace("\r\n", "\n") == MESSAGE.html


def test_files_follow_the_text_and_pictures_belong_to_the_html() -> None:
    mail = received(LAID_OUT)

    assert [part.get_content_type() for part in mail.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "text/csv",
    ]
    [attached] = mail.iter_attachments()
    assert attached.get_filename() == "linewatch.csv"
    assert attached.get_payload(decode=True) == LAID_OUT.attachments[0].content
    picture = next(part for part in mail.walk() if part.get_content_type() == "image/png")
    assert picture["Content-ID"] == "<chart.7@example.org>"
    assert picture.get_content() == LAID_OUT.images[0].content
    body = mail.get_body(("html",))
    assert body is not None
    assert "It was rejected" in body.get_content()


def test_same_message_is_the_same_bytes_at_every_attempt() -> None:
    first, second = (write_mail(LAID_OUT, some_headers(), FROM).as_bytes() for _ in range(2))

    assert first == second


def test_message_travels_over_seven_bit_servers() -> None:
    message = replace(LAID_OUT, subject="Rejected (0x2d6a…800e)", text="Grüße …\n")

    assert write_mail(message, some_headers(), FROM).as_bytes().isascii()


def test_subject_with_line_breaks_adds_no_header() -> None:
    mail = received(replace(MESSAGE, subject="Hello\0\x85Bcc: evil@example.org"))

    assert mail["Bcc"] is None
    assert mail["Subject"] == "Hello\\u0000 Bcc: evil@example.org"


@settings(max_examples=25)
@given(ANY_TEXT)
def test_any_subject_arrives_as_it_was_shown_and_changes_no_other_header(subject: str) -> None:
    mail = received(replace(MESSAGE, subject=f"x{subject}"))

    assert mail["Subject"] == one_line(f"x{subject}")
    assert mail.keys() == received().keys()


@settings(max_examples=25)
@given(st.lists(st.sampled_from(SUBJECT_WORDS), min_size=1, max_size=40))
def test_blanks_of_a_long_subject_stay_where_they_are(words: list[str]) -> None:
    subject = " ".join(words)

    mail = received(replace(MESSAGE, subject=subject))

    assert mail["Subject"] == one_line(subject)


@settings(max_examples=25)
@given(ANY_TEXT.filter(lambda name: "<" not in name and ">" not in name))
def test_any_name_of_the_sender_changes_no_other_header(name: str) -> None:
    try:
        sender = parse_sender(f"{name} <{SENDER}>")
    except InputError:
        return

    mail = received(sender=sender)

    assert mail["From"].addresses[0].addr_spec == SENDER
    assert mail.keys() == received().keys()


@settings(max_examples=25)
@given(ANY_TEXT, ANY_TEXT)
def test_any_text_and_html_arrive_whole(text: str, html: str) -> None:
    lines, marked = (each.encode("utf-8", "ignore").decode() for each in (text, html))

    mail = received(replace(MESSAGE, text=lines, html=marked))

    assert mail.keys() == received().keys()
    assert len(list(mail.walk())) == 3


def test_domain_in_another_script_is_written_as_dns_has_it() -> None:
    written = write_mail(MESSAGE, some_headers(to="ops@bücher.example"), FROM)

    assert written["To"] == "ops@xn--bcher-kva.example"
    assert written.as_bytes().isascii()


def test_address_in_another_script_is_written_as_it_is() -> None:
    mail = received(headers=some_headers(to="grüße@bücher.example"))

    assert mail["To"] == "grüße@xn--bcher-kva.example"
    assert mail["Subject"] == MESSAGE.subject


@pytest.mark.parametrize(
    "address", ["", "oncall", "a@b\r\nBcc: c@d", "a@b, c@d", "a@b, <c@d>, e@f", '"a', "a@b c"]
)
def test_recipient_that_is_no_address_waits_for_a_correction(address: str) -> None:
    with pytest.raises(DeliveryBlocked, match="is not an email address; correct recipients"):
        write_mail(MESSAGE, some_headers(to=address), FROM)


def test_sender_that_is_no_address_is_told_at_the_start() -> None:
    with pytest.raises(InputError, match="'linewatch' is not an email address; correct sender"):
        parse_sender("linewatch")
