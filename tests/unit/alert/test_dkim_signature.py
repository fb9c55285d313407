"""Mails signed with a key of ours, verified as their readers do."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from pathlib import Path

import dkim
import pytest
from Crypto.PublicKey import RSA

from dashboard.alert.channels.mime import DkimSigner, parse_sender, read_dkim_key, write_message
from dashboard.alert.channels.smtp import Security, SmtpChannel, SmtpServer
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from tests.mail_server import Inbox, mail_server
from tests.received_mail import read_mail
from tests.recording_channel import MESSAGE, SENDER, some_headers


@cache
def key() -> RSA.RsaKey:
    """Return our key: a short one, which is made in a tenth of a second."""
    return RSA.generate(1024)  # noqa: S505 - it signs nothing that anybody believes


def signer() -> DkimSigner:
    return DkimSigner("example.org", "watch", Secret(key().export_key().decode()))


def a_mail() -> bytes:
    return write_message(MESSAGE, some_headers(), parse_sender(SENDER)).as_bytes()


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
