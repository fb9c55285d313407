"""One deadline for everything a channel does with a server: resolve its name, connect, talk."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
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
        """Shut this connection down when time is up, even if TLS has replaced the socket.

        TimeoutError if time is up already: nothing would shut it down any more.
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


def resolve(host: str, port: int, deadline: Deadline) -> list[SocketAddress]:
    """Return the addresses of a name; OSError of the resolver, TimeoutError when time is up.

    The resolver has no time-out, so it runs in a thread that may be abandoned.
    """
    answers: SimpleQueue[list[SocketAddress] | OSError] = SimpleQueue()
    asking = threading.Thread(target=lambda: answers.put(_resolved(host, port)), daemon=True)
    asking.start()
    try:
        answer = answers.get(timeout=deadline.share(1))
    except Empty:
        raise TimeoutError from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _resolved(host: str, port: int) -> list[SocketAddress] | OSError:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is empty or too long; nobody was asked
        return socket.gaierror(socket.EAI_NONAME, "it is not a host name")
    except OSError as error:
        return error
    return [(family, place) for family, _, _, _, place in found]


def open_socket(addresses: Sequence[SocketAddress], deadline: Deadline) -> socket.socket:
    """Connect to the first address that answers; the OSError of the last if none does.

    An address that never answers may use up its own share of the time, but no other's.
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
