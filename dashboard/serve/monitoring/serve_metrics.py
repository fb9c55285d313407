"""Metrics of this process of serve, and how a family of metrics is made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from itertools import accumulate
from typing import Any, TypeAlias

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from dashboard.domain.quantity import Clock
from dashboard.serve.counters import BOUNDS, Counters
from dashboard.serve.gas import FollowedNetwork

Values: TypeAlias = float | Mapping[Any, float]
"""One value, or one for each label: a text, or several of them as a tuple."""


def gauge(name: str, about: str, values: Values, *labels: str) -> Metric:
    return _filled(GaugeMetricFamily(f"linewatch_{name}", about, labels=labels), values)


def counter(name: str, about: str, values: Values, *labels: str) -> Metric:
    return _filled(CounterMetricFamily(f"linewatch_{name}", about, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Values) -> Metric:
    for at, value in values.items() if isinstance(values, Mapping) else (((), values),):
        family.add_metric((at,) if isinstance(at, str) else at, value)
    return family


class ServeMetrics(Collector):
    """Reads the counters when Prometheus scrapes, so that counting stays cheap."""

    def __init__(self, counters: Counters, fees: Collection[FollowedNetwork], clock: Clock) -> None:
        self.store_is_up = False
        self._counters = counters
        self._fees = fees
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, in the order of docs/serve.md."""
        yield gauge("build_info", "The version that runs.", {version("linewatch"): 1}, "version")
        yield from self._requests()
        yield from self._calls()
        yield from self._keys()
        yield from self._connections()
        yield from self._sockets()
        yield from self._store()
        yield from self._networks()

    def _requests(self) -> Iterator[Metric]:
        routes = self._counters.routes
        statuses = {
            (route, str(status)): count
            for route, counts in routes.items()
            for status, count in counts.statuses.items()
        }
        about = "HTTP requests answered, by route and status."
        yield counter("http_requests", about, statuses, "route", "status")
        durations = HistogramMetricFamily(
            "linewatch_http_request_duration_seconds",
            "From the whole head of a request to the end of its reply.",
            labels=("route",),
        )
        ends = [*map(str, BOUNDS), "+Inf"]
        for route, counts in routes.items():
            buckets = list(zip(ends, accumulate(map(float, counts.buckets)), strict=True))
            durations.add_metric((route,), buckets, counts.seconds)
        yield durations

    def _calls(self) -> Iterator[Metric]:
        counted = self._counters
        outcomes = {}
        for method, calls in counted.calls.items():
            errors = counted.errors[method]
            outcomes[method, "result"] = calls - errors
            outcomes[method, "error"] = errors
        about = "JSON-RPC calls answered, over HTTP and WebSocket; unserved are unknown methods."
        yield counter("rpc_calls", about, outcomes, "method", "outcome")
        about = "Calls refused because they came faster than their key allows."
        yield counter("rpc_calls_limited", about, counted.limited)
        about = "Requests refused: wrong key, method not allowed, rate, or size."
        yield counter("refusals", about, counted.refusals, "reason")
        yield counter("reports", "Reports of rejections, by outcome.", counted.reports, "outcome")
        about = "Look-ups of hashes, by what was found."
        yield counter("lookups", about, counted.lookups, "outcome")

    def _keys(self) -> Iterator[Metric]:
        call_counts = self._counters.call_counts()
        calls = {name: counts.calls for name, counts in call_counts.items()}
        yield counter("key_calls", "Calls admitted, by the name of the key.", calls, "key")
        refusals = {name: counts.refusals for name, counts in call_counts.items()}
        about = "Calls refused for the rate or the rights of their key, by its name."
        yield counter("key_refusals", about, refusals, "key")

    def _connections(self) -> Iterator[Metric]:
        limiter = self._counters.connection_limiter
        if limiter is None:
            return
        about = "Open connections, WebSockets among them."
        yield gauge("connections", about, limiter.open_connections)
        most = limiter.limits.largest_connections
        yield gauge("connections_limit", "How many may be open.", most)
        about = "Connections accepted by the server."
        yield counter("connections_accepted", about, limiter.accepted)
        about = "Connections refused because too many were open."
        yield counter("connections_refused", about, limiter.refused)
        about = "Connections dropped because one phase took too long."
        dropped = {phase.value: limiter.dropped[phase] for phase in limiter.limits.seconds}
        yield counter("connections_dropped", about, dropped, "phase")

    def _sockets(self) -> Iterator[Metric]:
        counted = self._counters
        yield gauge("websockets", "Open WebSockets.", counted.websockets)
        yield counter("websocket_messages", "Messages received.", counted.messages)
        yield gauge("subscriptions", "Open subscriptions.", counted.subscriptions)
        yield counter("pushes", "Messages pushed to subscribers.", counted.pushes)
        about = "Messages that slow subscribers missed."
        yield counter("pushes_missed", about, counted.missed)

    def _store(self) -> Iterator[Metric]:
        counted = self._counters
        yield gauge("store_up", "Whether the store can be read and written.", self.store_is_up)
        about = "When a report was last saved, in seconds since 1970; 0 before the first."
        yield gauge("store_last_save_timestamp_seconds", about, counted.last_write)
        about = "Hashes with rejections that are known in memory."
        yield gauge("known_hashes", about, counted.known_hashes())

    def _networks(self) -> Iterator[Metric]:
        now = self._clock()
        replies_of = {each.name: each.replies for each in self._fees}
        heads = {name: replies.fees.head for name, replies in replies_of.items() if replies}
        numbers = {name: head.number for name, head in heads.items()}
        yield gauge("network_head_number", "The newest block.", numbers, "network")
        ages = {name: (now - head.timestamp).total_seconds() for name, head in heads.items()}
        yield gauge("network_head_age_seconds", "Age of the newest block.", ages, "network")
        about = "Time since the node last answered: the age of served fees."
        answers = {name: replies.read_at for name, replies in replies_of.items() if replies}
        ages = {name: (now - at).total_seconds() for name, at in answers.items()}
        yield gauge("network_fees_age_seconds", about, ages, "network")
        about = "Requests to the nodes of a network."
        asked = {each.name: each.follower.requests for each in self._fees}
        yield counter("node_requests", about, asked, "network")
        about = "Times that no node of a network answered as it should."
        failures = {each.name: each.failures_total for each in self._fees}
        yield counter("node_failures", about, failures, "network")
        about = "Times that another node of a network was asked instead."
        changes = {each.name: each.follower.changes for each in self._fees}
        yield counter("node_changes", about, changes, "network")
        about = "Blocks held of those behind percentile, threshold and congestion."
        held = {each.name: each.follower.blocks_held for each in self._fees}
        yield gauge("network_window_blocks", about, held, "network")
        about = "Blocks wanted behind percentile, threshold and congestion."
        wanted = {each.name: each.follower.window_blocks for each in self._fees}
        yield gauge("network_window_wanted_blocks", about, wanted, "network")
