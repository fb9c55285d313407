"""Messages over SMTP: a server that is slow, silent or broken delays its own messages only."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from dashboard.alert.channels.deadline import Deadline
from dashboard.alert.channels.dkim_signature import DkimSigner
from dashboard.alert.channels.mime import parse_recipient, parse_sender, write_message
from dashboard.alert.channels.smtp_connection import SmtpConnection
from dashboard.alert.channels.smtp_reply import (
    SmtpReply,
    is_no_mailbox,
    is_positive,
    is_unacceptable,
    reply_text,
)
from dashboard.alert.channels.stage import Watch, ignore
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.domain.foreign_text import visible
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, DeliveryDeferred, DeliveryRefused, DeliveryWithheld

_REASONS: Final = (
    (smtplib.SMTPNotSupportedError, "lacks STARTTLS or a login; check security in [mail]"),
    (smtplib.SMTPServerDisconnected, "closed the connection"),
    (smtplib.SMTPException, "does not offer what is needed; check security in [mail]"),
    (
        ssl.SSLCertVerificationError,
        "has no certificate that can be trusted (tls.ca_file is for an authority of your own)",
    ),
    (UnicodeError, "accepts ASCII only; check host, username and password in [mail]"),
)


_NO_TLS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"}
"""What OpenSSL says of bytes that are no TLS at all."""


class Security(StrEnum):
    """How the connection is protected; certificates are always verified."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server and our account there; `timeout` is for one whole message.

    `trust` says which certificates are trusted, by default those that the system trusts.
    `own_name` is our name in EHLO.
    """

    host: str
    port: int
    security: Security = Security.STARTTLS
    username: str = ""
    password: Secret = field(default_factory=lambda: Secret(""))
    timeout: timedelta = timedelta(seconds=20)
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    own_name: str = "localhost"


class SmtpChannel:
    """Sends messages to one mail server, each over a connection of its own."""

    def __init__(
        self,
        server: SmtpServer,
        sender: str,
        watch: Watch = ignore,
        signer: DkimSigner | None = None,
    ) -> None:
        """Ask nothing yet; InputError where the sender is no address.

        Where a `signer` is given, every message carries its signature.
        """
        self._server = server
        self._watch = watch
        self._signer = signer
        self._sender = parse_sender(sender)

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Send one message; returns the server's answer to it.

        DeliveryRefused only where there is no such mailbox, or the message will never be taken.
        DeliveryBlocked for what is wrong with the server, the connection, our account or the
        recipient; DeliveryDeferred where the server saw the message and may take it later.
        """
        recipient = parse_recipient(headers.to)
        content = write_message(message, headers, self._sender).as_bytes()
        if self._signer is not None:
            content = self._signer.sign(content)
        with self._connected() as connection:
            self._secure_and_log_in(connection)
            options = _international_options(connection, self._sender, recipient)
            _require(connection.mail(self._sender.spec, options), "the sender")
            _send_rcpt(connection, recipient.spec)
            if not may_send():
                raise DeliveryWithheld("the lease of this worker expired")
            reply = _send_data(connection, content)
            connection.quit_without_waiting()
        return reply_text(reply)

    @contextmanager
    def _connected(self) -> Iterator[SmtpConnection]:
        server = self._server
        implicit = server.trust if server.security is Security.TLS else None
        with Deadline(server.timeout.total_seconds()) as deadline:
            connection = SmtpConnection(deadline, implicit, server.own_name, self._watch)
            try:
                _require(connection.connect(server.host, server.port), "us")
                yield connection
            except (OSError, smtplib.SMTPException, UnicodeError) as error:
                raise DeliveryBlocked(f"{self._name()}: {_reason(error, deadline)}") from error
            finally:
                connection.close()

    def _secure_and_log_in(self, connection: SmtpConnection) -> None:
        connection.ehlo_or_helo_if_needed()
        if self._server.security is Security.STARTTLS:
            connection.protect(self._server.trust)
            connection.ehlo_or_helo_if_needed()
        if self._server.username:
            connection.login(self._server.username, self._server.password.reveal())

    def _name(self) -> str:
        return f"mail server {self._server.host} port {self._server.port}"


def _reason(error: Exception, deadline: Deadline) -> str:
    """Say what failed and what helps, without what was sent at the login."""
    cause = error.__context__  # smtplib takes a time-out of the socket for a lost connection
    if deadline.has_passed or isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
        return f"did not accept the message within {deadline.seconds:g} s"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"refused the login ({error.smtp_code}); check username and password in [mail]"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"answered {reply_text((error.smtp_code, error.smtp_error))}"
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLCertVerificationError):
        return _tls_reason(error)
    known = next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    return known or f"cannot be reached ({getattr(error, 'strerror', None) or 'no connection'})"


def _tls_reason(error: ssl.SSLError) -> str:
    """Say which side ended the handshake, and OpenSSL's reason."""
    reason = error.reason or ""
    if reason in _NO_TLS:
        return "does not speak TLS here; check port and security in [mail]"
    if isinstance(error, ssl.SSLEOFError):
        return "closed the connection in the TLS handshake; its log says why"
    cause = reason.replace("_", " ").lower() or "no reason given"
    if "ALERT" in reason:
        return f"refused our TLS handshake ({cause}); its log says why"
    return f"offers no TLS version that we accept ({cause}); it may support old versions only"


def _international_options(connection: SmtpConnection, *parties: MailAddress) -> list[str]:
    """Return what MAIL FROM says where an address is not ASCII (RFC 6531).

    DeliveryBlocked where the server cannot take it: then only another address helps.
    """
    foreign = [each for each in parties if each.is_international]
    if foreign and not connection.has_extn("smtputf8"):
        raise DeliveryBlocked(
            f"the mail server does not offer SMTPUTF8, which {visible(foreign[0].spec)} needs: "
            "use an address in ASCII, or another server"
        )
    return ["SMTPUTF8", "BODY=8BITMIME"] if foreign else []


def _send_rcpt(connection: SmtpConnection, address: str) -> None:
    reply = connection.rcpt(address)
    if is_no_mailbox(reply):
        raise DeliveryRefused(_refusal(reply, "the recipient"))
    _require(reply, "the recipient")


def _send_data(connection: SmtpConnection, content: bytes) -> SmtpReply:
    reply = connection.data(content)  # raises where the server refuses DATA itself
    if is_unacceptable(reply):
        raise DeliveryRefused(_refusal(reply, "the message"))
    if not is_positive(reply):
        raise DeliveryDeferred(_refusal(reply, "the message"))
    return reply


def _require(reply: SmtpReply, what: str) -> None:
    """Raise unless the server agreed, before it saw the message: any other would be refused too."""
    if not is_positive(reply):
        raise DeliveryBlocked(_refusal(reply, what))


def _refusal(reply: SmtpReply, what: str) -> str:
    return f"the mail server refused {what}: {reply_text(reply)}"
