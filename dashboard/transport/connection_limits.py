"""Limits on connections: how many, from whom, and how long each phase of one may take.

Nothing is timed while requests are answered: about once a second every connection is checked, and
those that made no progress in their phase for too long are dropped. So limits cost a request
nothing, and are kept to within one check.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

_LONGEST_CHECK_PERIOD: Final = 1.0
_CHECKS_IN_A_LIMIT: Final = 4
_READ_STEP: Final = 65_536


class ConnectionPhase(StrEnum):
    """What a connection is doing."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"
    IDLE = "idle"
    SLOW_READER = "slow_reader"
    CLOSING = "closing"
    OPEN = "open"


class ConnectionLimits(Struct, frozen=True):
    """How many connections there may be, and how long each phase may take.

    They are those of [serve], and `unfinished`. `largest_connections_per_address`: of one client
    address, 0 for any number. `largest_head`: bytes of a request's first line and headers.
    `head_timeout` and `body_timeout`: time to send them whole. `idle_timeout`: how long a
    connection is kept for a next request. `reading_timeout`: how long a client may read nothing
    of a reply. `ping_period` and `ping_timeout`: how often a WebSocket client is pinged, and how
    long its answer may take. `stop_timeout`: time for requests under way when the server stops.
    `unfinished`: bytes of unfinished WebSocket messages, and of those that the app took last, that
    all connections together may hold, 0 for any number.
    """

    largest_connections: int = 1_000
    largest_connections_per_address: int = 200
    largest_head: int = 16_000
    head_timeout: timedelta = timedelta(seconds=10)
    body_timeout: timedelta = timedelta(seconds=30)
    idle_timeout: timedelta = timedelta(seconds=75)
    reading_timeout: timedelta = timedelta(seconds=30)
    ping_period: timedelta = timedelta(seconds=20)
    ping_timeout: timedelta = timedelta(seconds=20)
    stop_timeout: timedelta = timedelta(seconds=5)
    unfinished: int = 0

    @property
    def refusable(self) -> int:
        """How many connections above the limit are answered with a refusal; others are cut off."""
        return 16 + self.largest_connections // 10

    @property
    def seconds(self) -> dict[ConnectionPhase, float]:
        """The limit of each phase that has one."""
        return {
            ConnectionPhase.HEAD: self.head_timeout.total_seconds(),
            ConnectionPhase.BODY: self.body_timeout.total_seconds(),
            ConnectionPhase.IDLE: self.idle_timeout.total_seconds(),
            ConnectionPhase.SLOW_READER: self.reading_timeout.total_seconds(),
            ConnectionPhase.CLOSING: self.reading_timeout.total_seconds(),
        }


class LimitedConnection(Protocol):
    """What the limiter needs of a connection."""

    def phase(self) -> tuple[ConnectionPhase, object]:
        """Return the phase, and an object that is replaced when there is progress in it."""

    def drop(self, phase: ConnectionPhase) -> None:
        """End the connection, which stayed in this phase for too long."""


class ReadProgress(Struct):
    """How far a client has read; `resumed` counts how often it has read nearly everything.

    `most`: the most bytes that waited for it since it last made progress.
    """

    resumed: int = 0
    most: int = 0


class WritableConnection(Protocol):
    """What shows whether a client reads."""

    resumed: int
    transport: asyncio.Transport
    read_progress: ReadProgress


def measure_read_progress(connection: WritableConnection) -> ReadProgress:
    """Return the same object as long as the client read less than 64 kB of what waits for it.

    Only a smaller rest counts as progress: the server may add to it meanwhile.
    """
    progress, waiting = connection.read_progress, connection.transport.get_write_buffer_size()
    if progress.resumed != connection.resumed or waiting <= progress.most - _READ_STEP:
        connection.read_progress = ReadProgress(connection.resumed, waiting)
    else:
        progress.most = max(progress.most, waiting)
    return connection.read_progress


class _Observed:
    """The phase of a connection when it last made progress, and since when."""

    __slots__ = ("phase", "progress", "since")

    def __init__(self, since: float) -> None:
        self.phase = ConnectionPhase.HEAD
        self.progress: object = None
        self.since = since


class ConnectionLimiter:
    """Counts connections, and checks their phases while there are any."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.accepted = 0
        self.refused = 0
        self.dropped: Counter[ConnectionPhase] = Counter()
        self._seconds = limits.seconds
        shortest = min(self._seconds.values())
        self._check_period = min(_LONGEST_CHECK_PERIOD, shortest / _CHECKS_IN_A_LIMIT)
        self._by_address: Counter[str] = Counter()
        self._open = 0
        self._observed: dict[LimitedConnection, _Observed] = {}
        self._unfinished: dict[LimitedConnection, int] = {}
        self._all_unfinished = 0
        self._next_check: asyncio.TimerHandle | None = None

    @property
    def open_connections(self) -> int:
        return self._open

    def admit(self, connection: LimitedConnection, address: str) -> bool | None:
        """Count a connection; False if it is to be refused, None to be cut off at once."""
        self.accepted += 1
        self._open += 1
        self._by_address[address] += 1
        self.watch(connection)
        limits = self.limits
        own, of_address = self._by_address[address], limits.largest_connections_per_address
        is_over_own_limit = 0 < of_address < own
        if self._open <= limits.largest_connections and not is_over_own_limit:
            return True
        self.refused += 1
        is_flood = self._open > limits.largest_connections + limits.refusable or (
            is_over_own_limit and own > of_address + limits.refusable
        )
        return None if is_flood else False

    def release(self, connection: LimitedConnection, address: str) -> None:
        """Discard a connection that has ended."""
        self._open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self.unwatch(connection)

    def watch(self, connection: LimitedConnection) -> None:
        """Check a connection from now on, without counting it, as after a change of protocol."""
        loop = asyncio.get_running_loop()
        self._observed[connection] = _Observed(loop.time())
        if self._next_check is None:
            self._next_check = loop.call_later(self._check_period, self._check)

    def unwatch(self, connection: LimitedConnection) -> None:
        self._observed.pop(connection, None)
        self.note_unfinished(connection, 0)

    def note_unfinished(self, connection: LimitedConnection, size: int) -> None:
        """Record how many bytes of messages a connection holds.

        If all together hold too many, the one that holds the most is dropped.
        """
        if connection not in self._observed:
            size = 0  # it has ended, and its app takes what came before
        self._all_unfinished += size - self._unfinished.pop(connection, 0)
        if size:
            self._unfinished[connection] = size
        if 0 < self.limits.unfinished < self._all_unfinished:
            largest = max(self._unfinished, key=self._unfinished.__getitem__)
            self._all_unfinished -= self._unfinished.pop(largest)
            self.dropped[ConnectionPhase.BODY] += 1
            largest.drop(ConnectionPhase.BODY)

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection, observed in list(self._observed.items()):
            phase, progress = connection.phase()
            if phase is not observed.phase or progress is not observed.progress:
                observed.phase, observed.progress, observed.since = phase, progress, now
            elif now - observed.since > self._seconds.get(phase, math.inf):
                self.dropped[phase] += 1
                observed.since = now
                connection.drop(phase)
        has_any = bool(self._observed)
        self._next_check = loop.call_later(self._check_period, self._check) if has_any else None
