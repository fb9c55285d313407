"""Messages over real SMTP: plain, STARTTLS, TLS, with a login, and to servers that refuse."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from dashboard.alert.channels.smtp import Security, SmtpChannel, SmtpServer
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, DeliveryDeferred, DeliveryError, DeliveryRefused
from tests.certificate import Certificate, make_certificate
from tests.mail_server import (
    PASSWORD,
    USERNAME,
    Inbox,
    answer_the_handshake,
    be_silent_at_quit,
    mail_server,
    rude_server,
)
from tests.recording_channel import MESSAGE, SENDER, some_headers
from tests.waiting import PATIENCE

TIMEOUT = timedelta(seconds=PATIENCE)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def plain(port: int) -> SmtpServer:
    return SmtpServer("127.0.0.1", port, Security.NONE, timeout=TIMEOUT)


def protected(port: int, security: Security, certificate: Certificate) -> SmtpServer:
    trust = certificate.for_client()
    return SmtpServer("localhost", port, security, timeout=TIMEOUT, trust=trust)


def send(server: SmtpServer) -> str:
    return SmtpChannel(server, SENDER).send(MESSAGE, some_headers())


def test_message_arrives_whole() -> None:
    inbox = Inbox()

    with mail_server(inbox) as port:
        answer = send(plain(port))

    [mail] = inbox.mails
    assert answer == "250 OK queued as 4711"
    assert mail["Message-ID"] == some_headers().message_id
    assert mail["Subject"] == MESSAGE.subject
    plain_part = mail.get_body(("plain",))
    assert plain_part is not None
    assert plain_part.get_content().replace("\r\n", "\n") == MESSAGE.text


def test_address_in_another_script_is_written_to_where_the_server_takes_it() -> None:
    inbox = Inbox()

    with mail_server(inbox, enable_SMTPUTF8=True) as port:
        channel = SmtpChannel(plain(port), "Wächter <linewatch@bücher.example>")
        channel.send(MESSAGE, some_headers(to="grüße@bücher.example"))

    [mail] = inbox.mails
    assert mail["To"] == "grüße@xn--bcher-kva.example"
    assert mail["From"] == "Wächter <linewatch@xn--bcher-kva.example>"


def test_server_that_takes_ascii_only_is_told_of_by_name() -> None:
    with mail_server(Inbox()) as port:
        channel = SmtpChannel(plain(port), SENDER)
        with pytest.raises(DeliveryBlocked, match="does not offer SMTPUTF8, which grüße@example"):
            channel.send(MESSAGE, some_headers(to="grüße@example.org"))


def test_starttls_protects_message_and_login(certificate: Certificate) -> None:
    inbox = Inbox()

    with mail_server(
        inbox,
        tls_context=certificate.for_server(),
        require_starttls=True,
        auth_required=True,
        authenticator=inbox.authenticate,
    ) as port:
        server = protected(port, Security.STARTTLS, certificate)
        send(replace(server, username=USERNAME, password=Secret(PASSWORD)))

    assert inbox.logins == [USERNAME]
    assert inbox.were_encrypted == [True]


def test_tls_from_the_first_byte_is_spoken(certificate: Certificate) -> None:
    inbox = Inbox()

    with mail_server(inbox, implicit_tls=certificate.for_server()) as port:
        send(protected(port, Security.TLS, certificate))

    assert len(inbox.mails) == 1


def test_wrong_password_keeps_the_message_and_hides_the_secret(certificate: Certificate) -> None:
    inbox = Inbox()
    context = certificate.for_server()

    with mail_server(inbox, tls_context=context, authenticator=inbox.authenticate) as port:
        server = protected(port, Security.STARTTLS, certificate)
        wrong = replace(server, username=USERNAME, password=Secret("wrong-canary"))
        with pytest.raises(DeliveryDeferred, match=r"refused the login \(535\)") as caught:
            send(wrong)

    assert "canary" not in str(caught.value)
    assert inbox.mails == []


def test_password_beyond_ascii_keeps_the_message_and_hides_the_secret(
    certificate: Certificate,
) -> None:
    inbox = Inbox()
    context = certificate.for_server()

    with mail_server(inbox, tls_context=context, authenticator=inbox.authenticate) as port:
        server = protected(port, Security.STARTTLS, certificate)
        beyond = replace(server, username=USERNAME, password=Secret("canary-ü"))
        with pytest.raises(DeliveryBlocked, match="accepts ASCII only; check") as caught:
            send(beyond)

    assert "ü" not in str(caught.value)
    assert inbox.logins == []


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
def test_certificate_that_is_not_trusted_keeps_the_message(
    certificate: Certificate, security: Security
) -> None:
    inbox = Inbox()
    context = certificate.for_server()
    is_implicit = security is Security.TLS

    with mail_server(
        inbox,
        implicit_tls=context if is_implicit else None,
        tls_context=None if is_implicit else context,
    ) as port:
        stranger = SmtpServer("localhost", port, security, timeout=TIMEOUT)
        with pytest.raises(DeliveryDeferred, match="no certificate that can be trusted"):
            send(stranger)

    assert inbox.mails == []


def test_certificate_of_another_host_keeps_the_message(tmp_path: Path) -> None:
    other = make_certificate(tmp_path, "mail.example.org")
    inbox = Inbox()

    with mail_server(inbox, tls_context=other.for_server()) as port:
        server = protected(port, Security.STARTTLS, other)
        with pytest.raises(DeliveryDeferred, match="no certificate that can be trusted"):
            send(server)

    assert inbox.mails == []


def test_server_without_starttls_gets_no_message() -> None:
    inbox = Inbox()

    with mail_server(inbox) as port:
        server = SmtpServer("localhost", port, Security.STARTTLS, timeout=TIMEOUT)
        with pytest.raises(DeliveryDeferred, match="lacks STARTTLS"):
            send(server)

    assert inbox.mails == []


def test_tls_to_a_server_that_speaks_none_names_the_settings() -> None:
    with mail_server(Inbox()) as port:
        server = SmtpServer("localhost", port, Security.TLS, timeout=TIMEOUT)
        with pytest.raises(DeliveryDeferred, match="does not speak TLS here; check port"):
            send(server)


@pytest.mark.parametrize(
    ("command", "answer", "kind", "complaint"),
    [
        ("MAIL", "451 busy", DeliveryBlocked, "451 busy"),
        ("RCPT", "450 greylisted", DeliveryBlocked, "450 greylisted"),
        ("RCPT", "554 5.7.1 Relay access denied", DeliveryBlocked, "Relay access denied"),
        ("MAIL", "550 not from you", DeliveryBlocked, "refused the sender: 550 not from you"),
        ("DATA", "451 try again later", DeliveryDeferred, "451 try again later"),
        ("DATA", "554 5.7.1 spam", DeliveryDeferred, r"refused the message: 554 5\.7\.1 spam"),
        ("DATA", "554 5.6.0 cannot be converted", DeliveryRefused, "cannot be converted"),
        ("RCPT", "550 no such user", DeliveryRefused, "550 no such user"),
        ("RCPT", "550 \x1b[31mred", DeliveryRefused, r"550 \\u001b\[31mred"),
    ],
)
def test_refusal_keeps_the_message_puts_all_off_or_is_final(
    command: str, answer: str, kind: type[DeliveryError], complaint: str
) -> None:
    with (
        mail_server(Inbox(**{command: answer})) as port,
        pytest.raises(kind, match=complaint) as caught,
    ):
        send(plain(port))

    assert type(caught.value) is kind


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x28", r"refused our TLS handshake \(.*alert handshake failure"),
        (b"\x15\x03\x03\x00\x02\x02\x46", r"refused our TLS handshake \(.*alert protocol version"),
        (b"", "closed the connection in the TLS handshake"),
        (b"500 what?\r\n", "does not speak TLS here; check port"),
    ],
)
def test_handshake_that_fails_is_told_as_it_failed(
    certificate: Certificate, security: Security, answer: bytes, complaint: str
) -> None:
    with rude_server(answer_the_handshake(answer, is_asked=security is Security.STARTTLS)) as port:
        server = protected(port, security, certificate)
        with pytest.raises(DeliveryBlocked, match=complaint):
            send(server)


def test_server_is_greeted_by_the_name_that_was_set() -> None:
    inbox = Inbox()

    with mail_server(inbox) as port:
        send(replace(plain(port), ehlo_name="monitor.example.org"))

    assert inbox.greetings == ["monitor.example.org"]


def test_answer_to_quit_is_not_awaited() -> None:
    with rude_server(be_silent_at_quit) as port:
        answer = send(replace(plain(port), timeout=timedelta(minutes=10)))

    assert answer == "250 OK"


def test_trust_of_a_server_is_the_systems_by_default() -> None:
    assert SmtpServer("localhost", 25).trust.verify_mode is ssl.CERT_REQUIRED
    assert SmtpServer("localhost", 25).trust.check_hostname
