"""The load: connections that are kept busy with bytes written ahead, and every reply kept.

Nothing is decoded while the time runs; `Load.run` hands the replies out to be judged afterwards.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Final, NamedTuple

from tests.bench.messages import Split

_BUFFER: Final = 1 << 20
_SILENCE: Final = 20.0


class Volley(NamedTuple):
    """What one connection sends at once; `first` is the number of its first question."""

    sent: bytes
    first: int
    replies: int


_NOTHING: Final = Volley(b"", 0, 0)


class Answered(NamedTuple):
    """The replies to one volley, in their order."""

    volley: Volley
    bodies: list[bytes]


@dataclass(slots=True)
class Burst:
    """What one run brought: replies by volley, seconds by the clock and of this process."""

    answered: list[Answered]
    wall: float
    loader_cpu: float

    @property
    def replies(self) -> int:
        """How many replies came."""
        return sum(len(each.bodies) for each in self.answered)


@dataclass(slots=True)
class _Line:
    """One connection with the volley that is under way on it."""

    socket: socket.socket
    volley: Volley = _NOTHING
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    rest: bytes = b""
    bodies: list[bytes] = field(default_factory=list)


class Load:
    """Connections to one server, each with one volley under way at any time."""

    def __init__(
        self,
        port: int,
        volleys: Sequence[Volley],
        connections: int,
        split: Split,
        greet: Callable[[socket.socket], None] = lambda _: None,
    ) -> None:
        """Send `volleys` in turn; `greet` does what the protocol needs before the first one."""
        self._port = port
        self._connections = connections
        self._split = split
        self._greet = greet
        self._supply = cycle(volleys)

    def run(self, seconds: float) -> Burst:
        """Send for so long, then wait for what is still under way.

        Connections are made anew each time: while others have their turn, idle ones would be
        closed by the server.
        """
        answered: list[Answered] = []
        with ExitStack() as stack:
            lines = [self._connected(stack) for _ in range(self._connections)]
            selector = stack.enter_context(selectors.DefaultSelector())
            begun, cpu = time.perf_counter(), time.process_time()
            for line in lines:
                selector.register(line.socket, selectors.EVENT_READ, line)
                self._send_next(line, selector)
            under_way = len(lines)
            while under_way:
                under_way -= self._step(selector, begun + seconds, answered)
            wall = time.perf_counter() - begun
            return Burst(answered, wall, time.process_time() - cpu)

    def _connected(self, stack: ExitStack) -> _Line:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=_SILENCE)
        stack.enter_context(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._greet(connection)
        connection.settimeout(0)
        return _Line(connection)

    def _step(
        self, selector: selectors.BaseSelector, until: float, answered: list[Answered]
    ) -> int:
        """Read and write where that is possible; return how many connections are done."""
        done = 0
        ready = selector.select(_SILENCE)
        if not ready:
            raise TimeoutError("the server has been silent for long: a reply is missing")
        for key, events in ready:
            line: _Line = key.data
            if events & selectors.EVENT_WRITE:
                self._push(line, selector)
            if not events & selectors.EVENT_READ or not self._pull(line):
                continue
            answered.append(Answered(line.volley, line.bodies))
            if time.perf_counter() < until:
                self._send_next(line, selector)
            else:
                selector.unregister(line.socket)
                done += 1
        return done

    def _send_next(self, line: _Line, selector: selectors.BaseSelector) -> None:
        line.volley = next(self._supply)
        line.bodies = []
        line.unsent = memoryview(line.volley.sent)
        self._push(line, selector)

    def _push(self, line: _Line, selector: selectors.BaseSelector) -> None:
        """Send what the socket takes, and ask to be called for the rest."""
        was_partial = len(line.unsent) not in {0, len(line.volley.sent)}
        with suppress(BlockingIOError):
            line.unsent = line.unsent[line.socket.send(line.unsent) :]
        if line.unsent:
            selector.modify(line.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, line)
        elif was_partial:
            selector.modify(line.socket, selectors.EVENT_READ, line)

    def _pull(self, line: _Line) -> bool:
        """Take what came; return whether the volley is answered."""
        some = line.socket.recv(_BUFFER)
        if not some:
            raise ConnectionError("the server hung up")
        bodies, line.rest = self._split(line.rest + some if line.rest else some)
        line.bodies += bodies
        return len(line.bodies) >= line.volley.replies
