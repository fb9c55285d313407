"""Mail as servers take and refuse it: replies, signatures, and a folder instead of a server."""

from __future__ import annotations

import mailbox
from base64 import b64encode
from functools import cache
from pathlib import Path

import dkim
import pytest
from Crypto.PublicKey import RSA

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.channels.mime import DkimSigner, parse_sender, read_dkim_key, write_mail
from dashboard.alert.channels.smtp import (
    Security,
    SmtpChannel,
    SmtpReply,
    SmtpServer,
    is_no_mailbox,
    is_unacceptable,
    reply_text,
)
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, InputError
from tests.mail_server import Inbox, mail_server
from tests.received_mail import mails_of, read_mail
from tests.recording_channel import MESSAGE, SENDER, some_headers


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
    assert reply_text((-1, b"no code\nof two lines")) == "no code of two lines"


@cache
def key() -> RSA.RsaKey:
    """Return our key: a short one, which is made in a tenth of a second."""
    return RSA.generate(1024)  # noqa: S505 - it signs nothing that anybody believes


def signer() -> DkimSigner:
    return DkimSigner("example.org", "watch", Secret(key().export_key().decode()))


def a_mail() -> bytes:
    return write_mail(MESSAGE, some_headers(), parse_sender(SENDER)).as_bytes()


def is_valid(content: bytes) -> bool:
    """Verify as a reader does who finds our public key in DNS."""

    def look_up(name: bytes, timeout: float = 5) -> bytes:  # noqa: ARG001 - as dkimpy calls it
        assert name == b"watch._domainkey.example.org."
        return b"v=DKIM1; k=rsa; p=" + b64encode(key().public_key().export_key(format="DER"))

    return bool(dkim.verify(content, dnsfunc=look_up))


def test_signed_mail_verifies_and_is_the_same_mail() -> None:
    signed = signer().sign(a_mail())

    assert is_valid(signed)
    assert signed.endswith(a_mail())
    assert "d=example.org" in read_mail(signed)["DKIM-Signature"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"It was rejected", b"It was accepted"),
        (b"Subject: ", b"Subject: not "),
        (b"List-Id:", b"List-Unsubscribe: <https://evil.example>\r\nList-Id:"),
        (b"From: ", b"From: evil@example.com\r\nFrom: "),
    ],
)
def test_mail_that_was_changed_on_the_way_does_not_verify(old: bytes, new: bytes) -> None:
    signed = signer().sign(a_mail()).replace(old, new, 1)

    assert not is_valid(signed)


def test_mail_arrives_signed() -> None:
    inbox = Inbox()

    with mail_server(inbox) as port:
        server = SmtpServer("127.0.0.1", port, Security.NONE)
        SmtpChannel(server, SENDER, signer=signer()).send(MESSAGE, some_headers())

    [content] = inbox.contents
    assert is_valid(content)


@pytest.mark.parametrize("pkcs", [1, 8])
def test_key_is_read_in_both_forms_that_openssl_writes(tmp_path: Path, pkcs: int) -> None:
    file = tmp_path / "dkim.pem"
    file.write_bytes(key().export_key(pkcs=pkcs))

    reading = DkimSigner("example.org", "watch", read_dkim_key(str(file)))

    assert is_valid(reading.sign(a_mail()))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "holds no private RSA key: make one with"),
        (b"\xff\xfe", "holds no private RSA key"),
        (b"-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n", "holds no private RSA"),
        (b"-----BEGIN PUBLIC KEY-----\nMIGf\n-----END PUBLIC KEY-----", "holds no private RSA key"),
    ],
)
def test_file_without_a_key_is_told(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "dkim.pem"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(InputError, match=reason):
        read_dkim_key(str(file))


def test_key_shows_in_no_text() -> None:
    assert "PRIVATE" not in repr(signer()) + str(signer())


def test_messages_become_mails_that_readers_know_each_once_and_whole(tmp_path: Path) -> None:
    channel = MaildirChannel(tmp_path / "mail", SENDER)

    answers = {channel.send(MESSAGE, some_headers(number)) for number in (1, 1, 2)}

    mails = mails_of(tmp_path / "mail")
    assert len(mailbox.Maildir(tmp_path / "mail", create=False)) == len(mails) == len(answers) == 2
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "mail").iterdir()} == {0o700}
    assert {(each["Subject"], each["To"]) for each in mails} == {
        (MESSAGE.subject, "oncall@example.org")
    }
    assert list((tmp_path / "mail" / "tmp").iterdir()) == []


def test_repeat_of_a_mail_that_was_read_adds_nothing(tmp_path: Path) -> None:
    channel = MaildirChannel(tmp_path, SENDER)
    channel.send(MESSAGE, some_headers())
    [mail] = (tmp_path / "new").iterdir()
    mail.rename(tmp_path / "cur" / f"{mail.name}:2,S")

    channel.send(MESSAGE, some_headers())

    assert list((tmp_path / "new").iterdir()) == []


def test_folder_that_cannot_be_written_keeps_the_message_pending(tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("a file, not a folder", encoding="utf-8")

    with pytest.raises(DeliveryBlocked, match="the Maildir cannot be written: Not a directory"):
        MaildirChannel(tmp_path / "mail", SENDER).send(MESSAGE, some_headers())
