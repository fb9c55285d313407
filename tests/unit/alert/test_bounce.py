"""Which mails say that an address takes nothing any more, in the words of several mail servers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.alert.bounces import Bounce, read_bounces
from tests.received_mail import MESSAGE_ID, bounced_mail

GONE = "smtp; 550 5.1.1 <ops@example.org>: Recipient address rejected"


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "5.1.1"},
        {"status": "5.2.1"},
        {"status": "5.0.0", "diagnostic": GONE},
        {"status": "5.0.0", "diagnostic": "smtp; 550 No such user here"},
        {"status": "5.1.10", "diagnostic": "smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound"},
        {"status": "5.1.1 (bad destination mailbox)", "headers_only": True},
    ],
)
def test_missing_mailbox_is_a_bounce(fields: dict[str, Any]) -> None:
    [bounce] = read_bounces(bounced_mail(**fields))

    assert bounce.message_id == MESSAGE_ID
    assert bounce.addresses == {"ops@example.org"}


def test_bounce_says_what_the_server_said_on_one_line() -> None:
    [bounce] = read_bounces(bounced_mail(diagnostic="smtp; 550 5.1.1 gone\x1b[2J\r\n and more"))

    assert bounce.why == r"smtp; 550 5.1.1 gone\u001b[2J and more"


def test_original_recipient_counts_as_well_where_mail_was_forwarded() -> None:
    content = bounced_mail(final="Other@Example.net", original="Ops@Example.org")

    assert read_bounces(content)[0].addresses == {"other@example.net", "ops@example.org"}


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "delayed", "status": "4.4.1"},
        {"action": "relayed"},
        {"status": "4.2.2"},
        {"status": "5.2.2", "diagnostic": "smtp; 552 5.2.2 mailbox full"},
        {"status": "5.7.1", "diagnostic": "smtp; 550 5.7.1 looks like spam"},
        {"status": "5.0.0", "diagnostic": "smtp; 550 relay not permitted"},
        {"status": ""},
        {"report": "multipart/mixed"},
        {"message_id": "no id"},
    ],
)
def test_what_may_be_corrected_and_other_mail_is_no_bounce(fields: dict[str, Any]) -> None:
    assert read_bounces(bounced_mail(**fields)) == []


def test_answer_of_a_person_is_no_bounce() -> None:
    answer = (
        b"From: a@example.org\r\nIn-Reply-To: " + MESSAGE_ID.encode() + b"\r\n\r\nI am away\r\n"
    )

    assert read_bounces(answer) == []


IN_EACH_OTHER = b"".join(
    b"--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n" % (each, each + 1)
    for each in range(2000)
)


@pytest.mark.parametrize(
    "report",
    [
        'multipart/report; boundary="b0"\n\n' + IN_EACH_OTHER.decode() + "x\n" * 200_000,
        "multipart/report; boundary=b\n\n--b\n" + "Content-Type: message/rfc822\n\n" * 20_000,
        "multipart/report;" + " a=b;" * 100_000,
        'multipart/report; a*0="' + '\\";' * 50_000,
        "multipart/report; boundary*=idna''b\n\n--b\n",
        "multipart/report; boundary=b\n\n" + "--b\n\n" * 100_000,
        "multipart/report\r\r" + "Content-Type: message/rfc822\r\r" * 2_000,
    ],
)
def test_mail_that_is_made_to_be_hard_to_read_takes_no_time(report: str) -> None:
    begun = time.process_time()

    assert read_bounces(b"Content-Type: " + report.encode()) == []
    assert time.process_time() - begun < 1


def test_report_about_thousands_of_recipients_is_read_to_its_hundredth() -> None:
    group = b"Action: failed\r\nStatus: 5.1.1\r\nFinal-Recipient: rfc822;a@b.example\r\n\r\n"
    content = bounced_mail().replace(b"Reporting-MTA", group * 5_000 + b"Reporting-MTA")

    assert len(read_bounces(content)) == 100


def test_boundary_is_read_as_it_is_written() -> None:
    quoted = bounced_mail().replace(b"--b", b"--=_a b.1").replace(b'"b"', b'"=_a b.1"')
    plain = bounced_mail().replace(b"--b", b"--=_b").replace(b'"b"', b"=_b")

    assert len(read_bounces(quoted)) == len(read_bounces(plain)) == 1


@settings(max_examples=50)
@given(st.binary(max_size=300), st.integers(0, 900))
def test_any_bytes_are_read_without_an_error(junk: bytes, cut: int) -> None:
    content = bounced_mail()

    found = read_bounces(content[:cut] + junk + content[cut:])

    assert all(isinstance(each, Bounce) for each in found)
