"""An SMTP connection with a deadline for everything that is said on it."""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
import threading
from types import TracebackType
from typing import Self


class Deadline:
    """Hangs a connection up after `seconds`.

    A time-out of a socket counts from the last byte, so a server that drips one byte a second
    never meets it. Hanging up ends whatever waits for that server, TLS handshakes too.
    """

    def __init__(self, seconds: float) -> None:
        """Start no clock yet."""
        self.seconds = seconds
        self.has_passed = False
        self._line: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._hang_up)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def watch(self, line: socket.socket) -> None:
        """Hang this connection up when time is up, whatever becomes of the object itself."""
        with self._lock:
            self._line = line.dup()  # TLS takes the object over; a duplicate stays ours

    def _hang_up(self) -> None:
        with self._lock:
            self.has_passed = True
            if self._line is not None:
                with contextlib.suppress(OSError):
                    self._line.shutdown(socket.SHUT_RDWR)


class Connection(smtplib.SMTP):
    """Connects under a deadline, at once through TLS where a context is given."""

    def __init__(self, deadline: Deadline, implicit_tls: ssl.SSLContext | None) -> None:
        """Connect to nothing yet; greet as "localhost", since asking for our name may block."""
        self._deadline = deadline
        self._implicit_tls = implicit_tls
        super().__init__(local_hostname="localhost", timeout=deadline.seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        """Open the socket, at the place where smtplib's own SMTP_SSL wraps it."""
        line = socket.create_connection((host, port), timeout)
        self._deadline.watch(line)
        self._host = host  # the name that STARTTLS verifies; smtplib sets it in its constructor
        if self._implicit_tls is None:
            return line
        return self._implicit_tls.wrap_socket(line, server_hostname=host)

    def say_goodbye(self) -> None:
        """Quit; the letter was taken, so nothing that goes wrong now matters."""
        with contextlib.suppress(OSError, smtplib.SMTPException):
            self.quit()
