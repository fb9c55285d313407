"""Which transport asks an exclusion endpoint next: the preferred one unless it rests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final, TypeAlias

from msgspec import Struct

from dashboard.domain.health.transport_state import Transport, TransportState
from dashboard.upstream.batches import BatchSize
from dashboard.upstream.endpoint import Asker

_BATCHES_IN_FLIGHT: Final = {Transport.WEBSOCKET: 8, Transport.HTTP: 4}
_IN_FLIGHT: Final = {Transport.WEBSOCKET: 64, Transport.HTTP: 4}
"""Concurrent requests; with HTTP/1.1, more of them soon slow the client down."""

_SHORTEST_REST: Final = timedelta(seconds=10)
_LONGEST_REST: Final = timedelta(minutes=5)
Keep: TypeAlias = Callable[[TransportState], None]


def keep_nothing(_state: TransportState) -> None:
    """Ignore the state of a transport."""


class Line(Struct):
    """One transport to the endpoint, and what was learnt about it.

    It is proven while it answers; otherwise one request tries it before others follow, and the same
    goes for a larger batch. `limit` says why it accepts no larger batches, `trouble` why it is not
    used.
    """

    asker: Asker
    transport: Transport
    size: BatchSize
    is_proven: bool = False
    unread: int = 0
    rest: timedelta = timedelta()
    rests_until: timedelta = timedelta.min
    limit: str = ""
    trouble: str = ""

    @property
    def in_flight(self) -> int:
        """The number of concurrent requests."""
        if not self.is_proven or self.size.now > self.size.accepted:
            return 1
        most = (_BATCHES_IN_FLIGHT if self.size.now > 1 else _IN_FLIGHT)[self.transport]
        budget = self.asker.endpoint.budget
        return most if budget is None else budget.in_flight(most)

    def answer(self) -> None:
        self.is_proven, self.unread, self.rest, self.trouble = True, 0, timedelta(), ""

    def leave(self, now: timedelta) -> None:
        """Do not use it for a while, which doubles each time."""
        if self.rests_until <= now:
            self.rest = min(max(self.rest * 2, _SHORTEST_REST), _LONGEST_REST)
            self.rests_until = now + self.rest

    def state(self, used: Line | None) -> TransportState:
        """Return the state to remember after a restart."""
        size, is_used = self.size, self is used
        why = self.trouble or (self.limit if size.refused else "")
        return TransportState(self.transport, size.accepted, size.refused, is_used, why)


class ExclusionTransports:
    """The transports of one endpoint, the preferred one first.

    They start from `known`, and pass what changes to `keep`. `used` answered last. A transport that
    failed is left for a while if there is another one.
    """

    def __init__(
        self,
        askers: Sequence[Asker],
        largest_batch: int,
        known: Iterable[TransportState],
        keep: Keep,
        elapsed: Callable[[], timedelta],
    ) -> None:
        self._kept = {each.transport: each for each in known}
        self._keep = keep
        self._elapsed = elapsed
        self._lines = [self._line(each, largest_batch) for each in askers]
        self.used: Line | None = None

    def _line(self, asker: Asker, largest: int) -> Line:
        is_websocket = asker.endpoint.url.reveal().startswith(("ws://", "wss://"))
        transport = Transport.WEBSOCKET if is_websocket else Transport.HTTP
        known = self._kept.get(transport, TransportState(transport))
        size = BatchSize(largest, known.accepted, known.refused)
        return Line(asker, transport, size, limit=known.trouble)

    def best(self) -> Line:
        """Return the transport to use now: one that accepts batches, if there is one."""
        now = self._elapsed() if len(self._lines) > 1 else timedelta()
        ready = [each for each in self._lines if each.rests_until <= now] or self._lines[-1:]
        may_batch = (each for each in ready if each.size.now > 1 or not each.size.accepted)
        return next(may_batch, ready[0])

    def leave(self, line: Line) -> bool:
        """Leave a transport for a while if another one may be used now; return whether it is."""
        now = self._elapsed()
        others = (each for each in self._lines if each is not line)
        if not any(each.rests_until <= now for each in others):
            return False
        line.leave(now)
        return True

    def keep_states(self) -> None:
        for line in self._lines:
            state = line.state(self.used)
            if self._kept.get(line.transport) != state:
                self._kept[line.transport] = state
                self._keep(state)
