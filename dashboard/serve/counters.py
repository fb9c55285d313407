"""What serve counts while it runs: plain integers, so that counting costs next to nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Final, Literal

from dashboard.serve.keys.rate_limits import Tally
from dashboard.serve.transport.connection_limits import Doorman

UNSERVED: Final = "unserved"
"""Counts calls of methods that nobody serves: their names are the callers' own."""

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets of durations, in seconds; one more bucket holds what took longer."""

Refusal = Literal["key", "method", "rate", "size"]
Saving = Literal["saved", "duplicate", "refused"]
Found = Literal["null", "record"]

asked_methods: ContextVar[Counter[str] | None] = ContextVar("asked_methods", default=None)
"""Where the methods of one request are noted for its line in the log; None: nowhere."""


class RouteTally:
    """The requests of one route: how many ended with each status, and how long they took."""

    __slots__ = ("buckets", "seconds", "statuses")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.statuses: dict[int, int] = {}

    def answered(self, status: int, seconds: float) -> None:
        """Count one request."""
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
        self.statuses[status] = self.statuses.get(status, 0) + 1


class Counters:
    """Plain numbers, cheap enough for every request; only the event loop's thread counts.

    `is_noting`: whether the methods of each request are also noted for its line in the log.
    """

    def __init__(self) -> None:
        self.is_noting = False
        self.doorman: Doorman | None = None
        self.calls: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.limited = 0
        self.routes: dict[str, RouteTally] = {}
        self.refusals: dict[Refusal, int] = {"key": 0, "method": 0, "rate": 0, "size": 0}
        self.reports: dict[Saving, int] = {"saved": 0, "duplicate": 0, "refused": 0}
        self.lookups: dict[Found, int] = {"null": 0, "record": 0}
        self.websockets = 0
        self.messages = 0
        self.subscriptions = 0
        self.pushes = 0
        self.missed = 0
        self.last_write = 0.0
        self.known_hashes: Callable[[], int] = lambda: 0
        self.tallies: Callable[[], Mapping[str, Tally]] = dict

    def route(self, name: str) -> RouteTally:
        """Return the tally of a route, always the same one."""
        return self.routes.setdefault(name, RouteTally())

    def called(self, method: str, calls: int, faults: int) -> None:
        """Count calls of a served method, by its full name, and how many of them failed."""
        self.calls[method] += calls
        self.faults[method] += faults
        if self.is_noting and (noted := asked_methods.get()) is not None:
            noted[method] += calls

    def refused_for_rate(self, calls: int) -> None:
        """Count calls that came faster than their key allows."""
        self.limited += calls
