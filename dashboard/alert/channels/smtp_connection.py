"""An SMTP connection with one deadline for all that is sent and received on it."""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypeAlias

SocketAddress: TypeAlias = tuple[int, tuple[str | int | bytes, ...]]
"""An address family and a socket address of it, as the resolver returns them."""


class Deadline:
    """Shuts a connection down after `seconds`.

    A time-out of a socket counts from the last byte, so a server that sends one byte a second
    never meets it. The shutdown ends whatever waits for that server, TLS handshakes too.
    """

    def __init__(self, seconds: float) -> None:
        """Start no clock yet."""
        self.seconds = seconds
        self.has_passed = False
        self._ends_at = 0.0
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._ends_at = time.monotonic() + self.seconds
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
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def watch(self, line: socket.socket) -> None:
        """Shut this connection down when time is up, even where TLS has replaced the socket.

        TimeoutError where time is up already: nothing would shut it down any more.
        """
        with self._lock:
            if self.has_passed:
                raise TimeoutError
            self._socket = line.dup()  # TLS takes the object over; a duplicate stays ours

    def share(self, count: int) -> float:
        """Return the seconds that one of `count` attempts may take; TimeoutError for none."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left / count

    def _shut_down(self) -> None:
        with self._lock:
            self.has_passed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)


class SmtpConnection(smtplib.SMTP):
    """Connects under a deadline, at once through TLS where a context is given."""

    def __init__(
        self, deadline: Deadline, implicit_tls: ssl.SSLContext | None, own_name: str
    ) -> None:
        """Connect to nothing yet; `own_name` goes into EHLO: to ask the system for it may block."""
        self._deadline = deadline
        self._implicit_tls = implicit_tls
        super().__init__(local_hostname=own_name, timeout=deadline.seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ARG002 - the deadline is stricter
        """Open the socket, where smtplib's own SMTP_SSL wraps it."""
        line = open_socket(_addresses_of(host, port), self._deadline)
        self._host = host  # the name that STARTTLS verifies; smtplib sets it in its constructor
        if self._implicit_tls is None:
            return line
        return self._implicit_tls.wrap_socket(line, server_hostname=host)

    def quit_without_waiting(self) -> None:
        """Quit without waiting for the answer, which changes nothing: the message was taken."""
        with contextlib.suppress(OSError, smtplib.SMTPException):
            self.putcmd("quit")


def open_socket(addresses: Sequence[SocketAddress], deadline: Deadline) -> socket.socket:
    """Connect to the first address that answers; OSError of the last where none does.

    One that never answers may use up its share of the time, and no other's.
    """
    failure = OSError("the name has no address")
    for tried, (family, place) in enumerate(addresses):
        line = socket.socket(family, socket.SOCK_STREAM)
        try:
            line.settimeout(deadline.share(len(addresses) - tried))
            line.connect(place)
            deadline.watch(line)
            line.settimeout(deadline.share(1))
        except OSError as error:
            line.close()
            failure = error
        else:
            return line
    raise failure


def _addresses_of(host: str, port: int) -> list[SocketAddress]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, place) for family, _, _, _, place in found]
