"""Counters of serve: plain integers, so that counting costs next to nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Final, Literal

from dashboard.serve.keys.key_ring import CallCounts
from dashboard.transport.connection_limits import ConnectionLimiter

UNSERVED: Final = "unserved"
"""Counts calls of unknown methods, whose names callers make up."""

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of durations, in seconds; one more bucket has the longer ones."""

RefusalReason = Literal["key", "method", "rate", "size"]
SaveOutcome = Literal["saved", "duplicate", "refused"]
LookupOutcome = Literal["null", "record"]

called_methods: ContextVar[Counter[str] | None] = ContextVar("called_methods", default=None)
"""The methods that the present request calls, for the access log; None if there is none."""


class RouteCounts:
    """The requests of one route: how many had which status, and how long they took."""

    __slots__ = ("buckets", "seconds", "statuses")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.statuses: dict[int, int] = {}

    def count(self, status: int, seconds: float) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
        self.statuses[status] = self.statuses.get(status, 0) + 1


class Counters:
    """All counters; only the event loop's thread counts.

    `is_listing_methods`: whether `called_methods` is filled for the access log.
    """

    def __init__(self) -> None:
        self.is_listing_methods = False
        self.connection_limiter: ConnectionLimiter | None = None
        self.calls: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.limited = 0
        self.routes: dict[str, RouteCounts] = {}
        self.refusals: dict[RefusalReason, int] = {"key": 0, "method": 0, "rate": 0, "size": 0}
        self.reports: dict[SaveOutcome, int] = {"saved": 0, "duplicate": 0, "refused": 0}
        self.lookups: dict[LookupOutcome, int] = {"null": 0, "record": 0}
        self.websockets = 0
        self.messages = 0
        self.subscriptions = 0
        self.pushes = 0
        self.missed = 0
        self.last_write = 0.0
        self.known_hashes: Callable[[], int] = lambda: 0
        self.call_counts: Callable[[], Mapping[str, CallCounts]] = dict

    def route(self, name: str) -> RouteCounts:
        """Return the counts of a route, always the same object."""
        return self.routes.setdefault(name, RouteCounts())

    def count_calls(self, method: str, calls: int, errors: int) -> None:
        """Count calls of a served method, by its full name, and how many of them failed."""
        self.calls[method] += calls
        self.errors[method] += errors
        if self.is_listing_methods and (methods := called_methods.get()) is not None:
            methods[method] += calls

    def count_rate_refusals(self, calls: int) -> None:
        """Count calls that came faster than their keys allow."""
        self.limited += calls
