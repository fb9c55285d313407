"""Messages over SMTP: a slow, silent or broken server delays only its own messages."""

from __future__ import annotations

import io
import re
import smtplib
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct, field

from dashboard.alert.channels.deadline import Deadline, open_socket, resolve
from dashboard.alert.channels.mime import DkimSigner, parse_recipient, parse_sender, write_mail
from dashboard.alert.message import MaySend, Message, MessageHeaders, Stage, Watch, always, ignore
from dashboard.domain.markup import visible
from dashboard.domain.people.recipients import MailAddress
from dashboard.domain.secret import Secret, quotes
from dashboard.errors import DeliveryBlocked, DeliveryDeferred, DeliveryRefused, DeliveryWithheld

_REASONS: Final = (
    (smtplib.SMTPNotSupportedError, "lacks STARTTLS or a login; check security in [mail]"),
    (
        smtplib.SMTPServerDisconnected,
        "closed the connection; its log says why, or check port and security in [mail]",
    ),
    (smtplib.SMTPException, "does not offer what is needed; check security in [mail]"),
    (
        ssl.SSLCertVerificationError,
        "has no certificate that can be trusted (tls.ca_file is for an authority of your own)",
    ),
    (UnicodeError, "accepts ASCII only; check host, username and password in [mail]"),
)


_NO_TLS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"}
"""What OpenSSL says about bytes that are not TLS."""

_STEPS: Final = {
    "ehlo": "EHLO",
    "helo": "HELO",
    "starttls": "STARTTLS",
    "auth": "login",
    "mail": "sender",
    "rcpt": "recipient",
    "data": "DATA",
}
"""The commands that begin a step; every other command belongs to the step before."""

_MOST_LINES: Final = 50
"""How many lines of one answer are shown: the answer to EHLO has about a dozen."""

_GO_ON: Final = 354
"""The answer of a server that waits for the message."""

_LARGEST_ANSWER: Final = 64 * 1024
"""How many bytes of one answer are read: it may have any number of lines, and smtplib keeps all."""

_NO_CODE: Final = -1
"""The code that smtplib gives an answer without one."""

_REMEDIES: Final = {
    "us": "ask who runs it whether this machine may connect",
    "the sender": "check sender in [mail], and whether this account may use it",
    "the recipient": "check the address, and whether the server sends mail there for us",
    "the message": "its log says more",
}

SmtpReply: TypeAlias = tuple[int, bytes | str]
"""The code and the text of an answer."""

_LONGEST: Final = 200
_PERMANENT: Final = 500
_ENHANCED: Final = re.compile(r"(?:^|#)([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)")
"""At the start of the text; qmail writes it with a hash at the end."""

_NO_MAILBOX: Final = {"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}
"""The other 5.1.x codes are about the sender, which Postfix refuses only after the recipient."""

_NO_MAILBOX_BARE: Final = {550, 551, 553}
_ABOUT_US: Final = re.compile(r"relay|rcpthosts|authenticat|sender", re.IGNORECASE)
"""Words by which servers without enhanced codes (Exim: "550 relay not permitted") refuse us."""

_TOO_LARGE: Final = {"5.2.3", "5.3.4"}
_CONTENT: Final = "5.6."


class Security(StrEnum):
    """How the connection is protected; certificates are always verified."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class SmtpServer(Struct, frozen=True):
    """A mail server and our account there; `timeout` is for one whole message.

    `trust` says which certificates are trusted, by default those of the system; everything else is
    as in [mail].
    """

    smtp_host: str
    smtp_port: int
    security: Security = Security.STARTTLS
    username: str = ""
    password: Secret = field(default_factory=lambda: Secret(""))
    timeout: timedelta = timedelta(seconds=20)
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    ehlo_name: str = "localhost"


class SmtpChannel:
    """Sends messages to one mail server, each over a connection of its own."""

    def __init__(
        self,
        server: SmtpServer,
        sender: str,
        watch: Watch = ignore,
        signer: DkimSigner | None = None,
    ) -> None:
        """Contact nobody yet; InputError for an invalid sender.

        With a `signer`, every message is signed.
        """
        self._server = server
        self._watch = watch
        self._signer = signer
        self._sender = parse_sender(sender)

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Send one message and return the server's answer.

        DeliveryRefused only if there is no such mailbox, or the message will never be accepted.
        DeliveryBlocked if the server, the connection, our account or the recipient is the problem;
        DeliveryDeferred if the server saw the message and may accept it later.
        """
        recipient = parse_recipient(headers.to)
        content = write_mail(message, headers, self._sender).as_bytes()
        if self._signer is not None:
            content = self._signer.sign(content)
        with self._connected() as connection:
            self._open_envelope(connection, recipient)
            if not may_send():
                raise DeliveryWithheld("the lease of this worker expired")
            reply = _send_data(connection, content)
            connection.quit_without_waiting()
        return reply_text(reply)

    def greet(self, recipients: Sequence[str]) -> None:
        """Do everything but send: connect, log in, and name the sender and the recipients.

        DeliveryError as in `send`; a server learns nothing but the addresses.
        """
        with self._connected() as connection:
            self._open_envelope(connection, *map(parse_recipient, recipients))
            connection.quit_without_waiting()

    def _open_envelope(self, connection: SmtpConnection, *recipients: MailAddress) -> None:
        """Secure the connection and log in, then name the sender and the recipients."""
        self._secure_and_log_in(connection)
        options = _international_options(connection, self._sender, *recipients)
        _require(connection.mail(self._sender.spec, options), "the sender")
        for each in recipients:
            _send_rcpt(connection, each.spec)

    @contextmanager
    def _connected(self) -> Iterator[SmtpConnection]:
        server = self._server
        with Deadline(server.timeout.total_seconds()) as deadline:
            try:
                with closing(SmtpConnection(server, deadline, self._watch)) as connection:
                    yield connection
            except smtplib.SMTPConnectError as refusal:
                reply = refusal.smtp_code, refusal.smtp_error
                raise DeliveryBlocked(_refusal(reply, "us")) from refusal
            except (OSError, smtplib.SMTPException, UnicodeError) as error:
                name = f"mail server {server.smtp_host} port {server.smtp_port}"
                raise DeliveryBlocked(f"{name}: {_reason(error, deadline)}") from error

    def _secure_and_log_in(self, connection: SmtpConnection) -> None:
        connection.ehlo_or_helo_if_needed()
        if self._server.security is Security.STARTTLS:
            connection.protect()
            connection.ehlo_or_helo_if_needed()
        if self._server.username:
            connection.login(self._server.username, self._server.password.reveal())


def _reason(error: Exception, deadline: Deadline) -> str:
    """Say what failed and what helps, without user name and password."""
    place = "check host and port in [mail]"
    cause = error.__context__  # smtplib takes whatever ends reading for a lost connection
    if deadline.has_passed or isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
        within = f"within {deadline.seconds:g} s"
        return f"did not accept the message {within}; {place}, or raise timeout"
    if isinstance(cause, _TooMuchSaid):
        return f"says more at once than a mail server does; {place}"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"refused the login ({error.smtp_code}); check username and password in [mail]"
    if isinstance(error, smtplib.SMTPResponseException):
        reply = error.smtp_code, error.smtp_error
        helps = place if error.smtp_code == _NO_CODE else "its log says more"
        return f"answered {reply_text(reply)}; {helps}"
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLCertVerificationError):
        return _tls_reason(error)
    known = next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    why = getattr(error, "strerror", None) or "no connection"
    return known or f"cannot be reached ({why}); {place}"


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
    """Return the options of MAIL FROM if an address is not ASCII (RFC 6531).

    DeliveryBlocked if the server does not support them: then only another address helps.
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
    reply = connection.data(content)  # raises if the server refuses DATA itself
    if is_unacceptable(reply):
        raise DeliveryRefused(_refusal(reply, "the message"))
    if not is_positive(reply):
        raise DeliveryDeferred(_refusal(reply, "the message"))
    return reply


def _require(reply: SmtpReply, what: str) -> None:
    """Raise unless the server agreed: before it saw the message, it would refuse any other too."""
    if not is_positive(reply):
        raise DeliveryBlocked(_refusal(reply, what))


def _refusal(reply: SmtpReply, what: str) -> str:
    if reply[0] == _NO_CODE:
        return f"this is not a mail server: “{reply_text(reply)}”; check host and port in [mail]"
    return f"the mail server refused {what}: {reply_text(reply)}; {_REMEDIES[what]}"


class _TooMuchSaid(OSError):
    """An answer is larger than the limit."""


class _WholeLines(io.BufferedReader):
    """Reads what a server says; a line that is cut off never counts as an answer.

    smtplib accepts one, and a message that the server never accepted would count as sent.
    """

    left = _LARGEST_ANSWER

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return a whole line, or nothing if the connection ended; _TooMuchSaid past the limit."""
        line = super().readline(size)
        self.left -= len(line)
        is_whole = line.endswith(b"\n")
        if self.left < 0 or (len(line) == size and not is_whole):
            raise _TooMuchSaid
        return line if is_whole else b""


class SmtpConnection(smtplib.SMTP):
    """Connects under a deadline, at once through TLS if the server requires that.

    `watch` gets each line of the server's answers with the name of the step, and never what was
    sent: an answer that repeats the password is replaced.
    """

    def __init__(self, server: SmtpServer, deadline: Deadline, watch: Watch = ignore) -> None:
        """Connect; smtplib.SMTPConnectError if the server refuses in its greeting.

        EHLO gets the configured name: asking the system for it may block.
        """
        self._server = server
        self._deadline = deadline
        self._watch = watch
        self._step = "greeting"
        super().__init__(server.smtp_host, server.smtp_port, server.ehlo_name, deadline.seconds)

    def connect(
        self, host: str = "localhost", port: int = 0, source_address: object = None
    ) -> tuple[int, bytes]:
        del source_address  # the system chooses it
        line = open_socket(resolve(host, port, self._deadline), self._deadline)
        self._watch(Stage("connect", f"{line.getpeername()[0]} port {port}"))
        if self._server.security is Security.TLS:
            line = self._server.trust.wrap_socket(line, server_hostname=host)
            self._note_tls(line)
        self.sock, self.file = line, None
        return self.getreply()

    def protect(self) -> None:
        """Ask the server for TLS, and use it from here on."""
        self.starttls(context=self._server.trust)
        self._note_tls(self.sock)

    def putcmd(self, cmd: str, args: str = "") -> None:
        """Send a command, and begin its step."""
        self._step = _STEPS.get(cmd.partition(" ")[0].lower(), self._step)
        super().putcmd(cmd, args)

    def getreply(self) -> tuple[int, bytes]:
        """Read an answer, and report it as a step."""
        if self.file is None and self.sock is not None:
            self.file = _WholeLines(self.sock.makefile("rb", buffering=0))
        if self.file is not None:
            self.file.left = _LARGEST_ANSWER
        code, text = super().getreply()
        if quotes(_read(text), [self._server.password.reveal()]):
            kept = f"{_enhanced(text) or ''} it repeats our password, so it is not shown"
            text = kept.strip().encode()
        for line in text.splitlines()[:_MOST_LINES] or [b""]:
            self._watch(Stage(self._step, reply_text((code, line))))
        if code == _GO_ON:
            self._step = "message"
        return code, text

    def quit_without_waiting(self) -> None:
        """Quit without waiting for the answer, which does not matter: the message was accepted."""
        with suppress(OSError, smtplib.SMTPException):
            self.putcmd("quit")

    def _note_tls(self, line: socket.socket | None) -> None:
        if isinstance(line, ssl.SSLSocket):
            self._watch(Stage("TLS", f"{line.version()}, certificate for {self._server.smtp_host}"))


def is_positive(reply: SmtpReply) -> bool:
    """Whether the server did what was asked."""
    return 200 <= reply[0] < 300  # noqa: PLR2004 - the codes of agreement, RFC 5321


def is_no_mailbox(reply: SmtpReply) -> bool:
    code, text = reply
    enhanced = _enhanced(text)
    if enhanced is not None:
        return code >= _PERMANENT and enhanced in _NO_MAILBOX
    return code in _NO_MAILBOX_BARE and _ABOUT_US.search(_read(text)) is None


def is_unacceptable(reply: SmtpReply) -> bool:
    """Whether the answer to a message says that its size or content will never be accepted.

    Without an enhanced code nothing says so: 552 more often means a full mailbox than too large a
    message, since ours are small, and 550 or 554 is a filter, which somebody may correct.
    """
    code, text = reply
    enhanced = _enhanced(text) or ""
    return code >= _PERMANENT and (enhanced in _TOO_LARGE or enhanced.startswith(_CONTENT))


def reply_text(reply: SmtpReply) -> str:
    """Return code, if there is one, and text on one line, shortened, without control characters."""
    code, text = reply
    said = visible(" ".join(_read(text).splitlines()), _LONGEST)
    return (said if code == _NO_CODE else f"{code} {said}").strip()


def _enhanced(text: bytes | str) -> str | None:
    found = _ENHANCED.search(_read(text))
    return None if found is None else found[1]


def _read(text: bytes | str) -> str:
    return text if isinstance(text, str) else text.decode("ascii", "backslashreplace")
