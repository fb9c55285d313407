"""Letters over SMTP: a server that is slow, silent or rude costs its own letters only."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from dashboard.alert.channels.connection import Connection, Deadline
from dashboard.alert.channels.reply import Reply, is_agreed, is_no_mailbox, is_unfit_letter, said
from dashboard.alert.message import Envelope, Letter, MaySend, always
from dashboard.alert.mime import parse_sender, write_message
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, DeliveryDeferred, DeliveryRefused, DeliveryWithheld

_TROUBLES: Final = (
    (smtplib.SMTPNotSupportedError, "lacks STARTTLS or a login; check security in [mail]"),
    (smtplib.SMTPServerDisconnected, "closed the connection"),
    (smtplib.SMTPException, "does not offer what is needed; check security in [mail]"),
    (
        ssl.SSLCertVerificationError,
        "has no certificate that can be trusted (tls.ca_file is for an authority of your own)",
    ),
    (UnicodeError, "takes ASCII only; check host, username and password in [mail]"),
)


_NO_TLS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"}
"""What OpenSSL says of bytes that are no TLS at all."""


class Security(StrEnum):
    """How the way to the server is protected; certificates are always verified."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server and how we sign in there; `timeout` is for one whole letter.

    `trust` is which certificates are believed, by default those that the system trusts.
    `own_name` is how we greet it, in EHLO.
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
    """Hands letters to one mail server, each over a connection of its own."""

    def __init__(self, server: SmtpServer, sender: str) -> None:
        """Ask nothing yet; InputError where the sender is no address."""
        self._server = server
        self._sender = parse_sender(sender)

    def send(self, letter: Letter, envelope: Envelope, may_send: MaySend = always) -> str:
        """Hand one letter over; returns the server's answer to it.

        DeliveryRefused only where there is no such mailbox, or the letter itself will never do.
        DeliveryBlocked for what is wrong with the server, the way to it, our account or the
        recipient; DeliveryDeferred where the server saw the letter and may take it later.
        """
        message = write_message(letter, envelope, self._sender).as_bytes()
        with self._connected() as connection:
            self._sign_in(connection)
            _expect(connection.mail(self._sender.addr_spec), "the sender")
            _name_recipient(connection, envelope.to)
            if not may_send():
                raise DeliveryWithheld("the lease of this worker is over")
            reply = _hand_over(connection, message)
            connection.say_goodbye()
        return said(reply)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        server = self._server
        implicit = server.trust if server.security is Security.TLS else None
        with Deadline(server.timeout.total_seconds()) as deadline:
            connection = Connection(deadline, implicit, server.own_name)
            try:
                _expect(connection.connect(server.host, server.port), "us")
                yield connection
            except (OSError, smtplib.SMTPException, UnicodeError) as error:
                raise DeliveryBlocked(f"{self._name()}: {_trouble(error, deadline)}") from error
            finally:
                connection.close()

    def _sign_in(self, connection: Connection) -> None:
        connection.ehlo_or_helo_if_needed()
        if self._server.security is Security.STARTTLS:
            connection.starttls(context=self._server.trust)
            connection.ehlo_or_helo_if_needed()
        if self._server.username:
            connection.login(self._server.username, self._server.password.reveal())

    def _name(self) -> str:
        return f"mail server {self._server.host} port {self._server.port}"


def _trouble(error: Exception, deadline: Deadline) -> str:
    """Say what went wrong and what helps, without what was said at the login."""
    cause = error.__context__  # smtplib takes a time-out of the socket for a lost connection
    if deadline.has_passed or isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
        return f"did not take the letter within {deadline.seconds:g} s"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"refused the login ({error.smtp_code}); check username and password in [mail]"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"answered {said((error.smtp_code, error.smtp_error))}"
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLCertVerificationError):
        return _tls_trouble(error)
    known = next((text for kind, text in _TROUBLES if isinstance(error, kind)), None)
    return known or f"cannot be reached ({getattr(error, 'strerror', None) or 'no connection'})"


def _tls_trouble(error: ssl.SSLError) -> str:
    """Tell who broke off the handshake, and for which reason, in OpenSSL's words."""
    reason = error.reason or ""
    if reason in _NO_TLS:
        return "does not speak TLS here; check port and security in [mail]"
    if isinstance(error, ssl.SSLEOFError):
        return "closed the connection in the TLS handshake; its log says why"
    said = reason.replace("_", " ").lower() or "no reason told"
    if "ALERT" in reason:
        return f"refused our TLS handshake ({said}); its log says why"
    return f"speaks no TLS that we accept ({said}); it may take old versions only"


def _name_recipient(connection: Connection, address: str) -> None:
    reply = connection.rcpt(address)
    if is_no_mailbox(reply):
        raise DeliveryRefused(_refusal(reply, "the recipient"))
    _expect(reply, "the recipient")


def _hand_over(connection: Connection, message: bytes) -> Reply:
    reply = connection.data(message)  # raises where the server will not even listen
    if is_unfit_letter(reply):
        raise DeliveryRefused(_refusal(reply, "the letter"))
    if not is_agreed(reply):
        raise DeliveryDeferred(_refusal(reply, "the letter"))
    return reply


def _expect(reply: Reply, what: str) -> None:
    """Raise unless the server agreed, before it saw the letter: no other would fare better."""
    if not is_agreed(reply):
        raise DeliveryBlocked(_refusal(reply, what))


def _refusal(reply: Reply, what: str) -> str:
    return f"the mail server refused {what}: {said(reply)}"
