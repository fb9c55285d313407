"""An SMTP connection with one deadline for all that is sent and received on it."""

from __future__ import annotations

import contextlib
import io
import smtplib
import socket
import ssl
from typing import Final

from dashboard.alert.channels.deadline import Deadline, open_socket, resolve
from dashboard.alert.channels.smtp_reply import reply_text
from dashboard.alert.channels.stage import Stage, Watch, ignore

_STEPS: Final = {
    "ehlo": "EHLO",
    "helo": "HELO",
    "starttls": "STARTTLS",
    "auth": "login",
    "mail": "sender",
    "rcpt": "recipient",
    "data": "DATA",
}
"""The commands that begin a step; what is none of them goes on with the step before."""

_MOST_LINES: Final = 50
"""Lines of one answer that are shown: to EHLO a server says what it offers, in a dozen."""

_GO_ON: Final = 354
"""What a server answers when it waits for the message."""

_LARGEST_ANSWER: Final = 64 * 1024
"""Bytes of one answer that are read: it may have any number of lines, and smtplib keeps all."""


class _WholeLines(io.BufferedReader):
    """Reads what a server says; a line that is cut off is no answer, whatever it begins with.

    smtplib takes one for an answer: a message would count as sent that the server never took.
    """

    left = _LARGEST_ANSWER

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return a whole line, or nothing where the connection or the room for an answer ended."""
        line = super().readline(size)
        self.left -= len(line)
        is_whole = line.endswith(b"\n") or len(line) == size
        return line if is_whole and self.left >= 0 else b""


class SmtpConnection(smtplib.SMTP):
    """Connects under a deadline, at once through TLS where a context is given.

    `watch` gets each line that the server answers under the name of the step, and never what was
    sent.
    """

    def __init__(
        self,
        deadline: Deadline,
        implicit_tls: ssl.SSLContext | None,
        own_name: str,
        watch: Watch = ignore,
    ) -> None:
        """Connect to nothing yet; `own_name` goes into EHLO: to ask the system for it may block."""
        self._deadline = deadline
        self._implicit_tls = implicit_tls
        self._watch = watch
        self._step = "greeting"
        super().__init__(local_hostname=own_name, timeout=deadline.seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ARG002 - the deadline is stricter
        """Open the socket, where smtplib's own SMTP_SSL wraps it."""
        line = open_socket(resolve(host, port, self._deadline), self._deadline)
        self._watch(Stage("connect", f"{line.getpeername()[0]} port {port}"))
        self._host = host  # the name that STARTTLS verifies; smtplib sets it in its constructor
        if self._implicit_tls is None:
            return line
        protected = self._implicit_tls.wrap_socket(line, server_hostname=host)
        self._note_tls(protected)
        return protected

    def protect(self, trust: ssl.SSLContext) -> None:
        """Ask the server for TLS, and speak it from here on."""
        self.starttls(context=trust)
        self._note_tls(self.sock)

    def putcmd(self, cmd: str, args: str = "") -> None:
        """Send a command, and begin its step."""
        self._step = _STEPS.get(cmd.partition(" ")[0].lower(), self._step)
        super().putcmd(cmd, args)

    def getreply(self) -> tuple[int, bytes]:
        """Read an answer, and report it as a stage."""
        if self.file is None and self.sock is not None:
            self.file = _WholeLines(self.sock.makefile("rb", buffering=0))
        if self.file is not None:
            self.file.left = _LARGEST_ANSWER
        code, text = super().getreply()
        for line in text.splitlines()[:_MOST_LINES] or [b""]:
            self._watch(Stage(self._step, reply_text((code, line))))
        if code == _GO_ON:
            self._step = "message"
        return code, text

    def quit_without_waiting(self) -> None:
        """Quit without waiting for the answer, which changes nothing: the message was taken."""
        with contextlib.suppress(OSError, smtplib.SMTPException):
            self.putcmd("quit")

    def _note_tls(self, line: socket.socket | None) -> None:
        if isinstance(line, ssl.SSLSocket):
            self._watch(Stage("TLS", f"{line.version()}, certificate for {self._host}"))
