"""What the answers of real mail servers mean for a message."""

from __future__ import annotations

import pytest

from dashboard.alert.channels.smtp import SmtpReply, is_no_mailbox, is_unacceptable, reply_text


@pytest.mark.parametrize(
    "reply",
    [
        (550, b"5.1.1 <a@b.example>: Recipient address rejected: User unknown"),
        (550, b"5.1.1 The email account does not exist.\n5.1.1 Try double-checking it"),
        (550, b"5.1.10 RESOLVER.ADR.RecipientNotFound"),
        (556, b"5.1.10 Domain has null MX"),
        (553, b"sorry, no mailbox here by that name. (#5.1.1)"),
        (550, b"no such user"),
        (551, b"User not local"),
        (553, b"mailbox name not allowed"),
    ],
)
def test_missing_mailbox_is_final(reply: SmtpReply) -> None:
    assert is_no_mailbox(reply)


@pytest.mark.parametrize(
    "reply",
    [
        (250, b"2.1.5 OK"),
        (450, b"no such user yet"),
        (450, b"4.1.1 unverified address"),
        (454, b"5.1.1 of two minds"),
        (530, b"5.7.0 Must issue a STARTTLS command first"),
        (530, b"Authentication required"),
        (535, b"5.7.8 Error: authentication failed"),
        (550, b"5.1.8 <linewatch@b.example>: Sender address rejected: Domain not found"),
        (550, b"5.1.0 Sender address rejected: User unknown"),
        (550, b"5.2.1 The mailbox is disabled"),
        (550, b"5.7.1 Unable to relay"),
        (550, b"5.7.54 SMTP; Unable to relay recipient in non-accepted domain"),
        (550, b"relay not permitted"),
        (550, b"Authentication is required for relaying"),
        (553, b"sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"),
        (553, b"sorry, that domain isn't in my list of allowed rcpthosts"),
        (552, b"5.2.2 mailbox full"),
        (552, b"mailbox full"),
        (554, b"5.7.1 <a@b.example>: Relay access denied"),
        (554, b"delivery error"),
    ],
)
def test_answer_to_a_recipient_that_somebody_may_correct_is_not_final(reply: SmtpReply) -> None:
    assert not is_no_mailbox(reply)


@pytest.mark.parametrize(
    "reply",
    [
        (554, b"5.6.0 Message contains invalid header"),
        (552, b"5.3.4 Message size exceeds fixed limit"),
        (552, b"5.2.3 Your message exceeded our size limits"),
    ],
)
def test_message_whose_size_or_content_will_never_do_is_final(reply: SmtpReply) -> None:
    assert is_unacceptable(reply)


@pytest.mark.parametrize(
    "reply",
    [
        (250, b"2.0.0 queued"),
        (452, b"4.3.1 Insufficient system storage"),
        (451, b"5.6.0 of two minds"),
        (550, b"5.7.1 Message rejected as spam"),
        (550, b"go away"),
        (552, b"5.2.2 Quota exceeded"),
        (552, b"exceeded storage allocation"),
        (554, b"Transaction failed"),
    ],
)
def test_answer_to_a_message_that_somebody_may_correct_is_not_final(reply: SmtpReply) -> None:
    assert not is_unacceptable(reply)


def test_address_of_a_host_is_no_enhanced_code() -> None:
    assert is_no_mailbox((550, b"5.1.8.9 knows no such user"))


def test_words_of_a_server_are_inert_and_short() -> None:
    assert reply_text((550, b"\x1b[31m\xff")) == "550 \\u001b[31m\\xff"
    assert len(reply_text((550, "a" * 999))) == 205
    assert reply_text((550, b"")) == "550"
