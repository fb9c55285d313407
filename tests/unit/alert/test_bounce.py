"""Which mails say that an address takes nothing any more, in the words of several mail servers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alert.bounce import Bounce, read_bounces
from tests.bounced_mail import MESSAGE_ID, bounced_mail

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


@given(st.binary(max_size=300), st.integers(0, 900))
def test_any_bytes_are_read_without_an_error(junk: bytes, cut: int) -> None:
    content = bounced_mail()

    found = read_bounces(content[:cut] + junk + content[cut:])

    assert all(isinstance(each, Bounce) for each in found)
