"""Who may connect, and how long each step of a connection may take.

Nothing is timed while requests are answered: once in a while the doorman looks at every
connection, and drops those that stand where they stood for too long. So a limit costs a request
nothing, and is kept to within one round.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol

_LONGEST_ROUND: Final = 1.0
_ROUNDS_IN_A_LIMIT: Final = 4


class Step(StrEnum):
    """Where a connection stands."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"
    IDLE = "idle"
    SLOW_READER = "slow_reader"
    CLOSING = "closing"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many may connect, and how patient the server is with each.

    `per_address`: connections of one client address, 0 for any number. `largest_head`: bytes of
    a request's first line and headers. `head` and `body`: time to send them whole. `idle`: how
    long a connection is kept for a next request. `reading`: how long a client may leave a reply
    lying without taking any of it. `ping` and `pong`: how often a WebSocket is asked whether
    its client lives, and how long the answer may take. `stop`: time for requests under way when
    the server is told to stop.
    """

    total: int = 1_000
    per_address: int = 200
    largest_head: int = 16_000
    head: timedelta = timedelta(seconds=10)
    body: timedelta = timedelta(seconds=30)
    idle: timedelta = timedelta(seconds=75)
    reading: timedelta = timedelta(seconds=30)
    ping: timedelta = timedelta(seconds=20)
    pong: timedelta = timedelta(seconds=20)
    stop: timedelta = timedelta(seconds=5)

    @property
    def turned_away(self) -> int:
        """How many above the limit may connect just to be told so; the rest is cut off."""
        return 16 + self.total // 10

    @property
    def seconds(self) -> dict[Step, float]:
        """The limit of each step that has one."""
        return {
            Step.HEAD: self.head.total_seconds(),
            Step.BODY: self.body.total_seconds(),
            Step.IDLE: self.idle.total_seconds(),
            Step.SLOW_READER: self.reading.total_seconds(),
            Step.CLOSING: self.reading.total_seconds(),
        }


class Connection(Protocol):
    """What the doorman sees of a connection."""

    def standing(self) -> tuple[Step, object]:
        """Return the step, and an object that is another one once there is progress in it."""

    def drop(self, step: Step) -> None:
        """End the connection that stood in this step for too long."""


class Standing:
    """Where a connection was first seen standing as it stands, and since when."""

    __slots__ = ("progress", "since", "step")

    def __init__(self, since: float) -> None:
        self.step = Step.HEAD
        self.progress: object = None
        self.since = since


class Doorman:
    """Counts connections in and out, and walks his rounds while there are any."""

    def __init__(self, limits: ConnectionLimits) -> None:
        """Keep to these limits."""
        self.limits = limits
        self.accepted = 0
        self.turned_away = 0
        self.dropped: Counter[Step] = Counter()
        self._seconds = limits.seconds
        self._round = min(_LONGEST_ROUND, min(self._seconds.values()) / _ROUNDS_IN_A_LIMIT)
        self._by_address: Counter[str] = Counter()
        self._inside = 0
        self._standings: dict[Connection, Standing] = {}
        self._next_round: asyncio.TimerHandle | None = None

    @property
    def inside(self) -> int:
        """How many connections are open."""
        return self._inside

    def enter(self, connection: Connection, address: str) -> bool | None:
        """Count a connection; False where it is to be turned away, None to be cut off at once."""
        self.accepted += 1
        self._inside += 1
        self._by_address[address] += 1
        self.watch(connection)
        limits = self.limits
        is_crowd = 0 < limits.per_address < self._by_address[address]
        if self._inside <= limits.total and not is_crowd:
            return True
        self.turned_away += 1
        is_flood = self._inside > limits.total + limits.turned_away or (
            is_crowd and self._by_address[address] > limits.per_address + limits.turned_away
        )
        return None if is_flood else False

    def leave(self, connection: Connection, address: str) -> None:
        """Forget a connection that has ended."""
        self._inside -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self.unwatch(connection)

    def watch(self, connection: Connection) -> None:
        """Include a connection in the rounds; one that changes its protocol is still one."""
        loop = asyncio.get_running_loop()
        self._standings[connection] = Standing(loop.time())
        if self._next_round is None:
            self._next_round = loop.call_later(self._round, self._walk)

    def unwatch(self, connection: Connection) -> None:
        """Leave a connection out of the rounds."""
        self._standings.pop(connection, None)

    def _walk(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection, standing in list(self._standings.items()):
            step, progress = connection.standing()
            if step is not standing.step or progress is not standing.progress:
                standing.step, standing.progress, standing.since = step, progress, now
            elif now - standing.since > self._seconds.get(step, math.inf):
                self.dropped[step] += 1
                standing.since = now
                connection.drop(step)
        self._next_round = loop.call_later(self._round, self._walk) if self._standings else None
