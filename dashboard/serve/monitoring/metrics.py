"""Metrics for Prometheus: who may read them, their names, units and values."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from importlib.metadata import version
from itertools import accumulate
from typing import Final

import anyio
from anyio import to_thread
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.types import Scope

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.errors import StoreError
from dashboard.serve.counters import BOUNDS, Counters
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.gas import FollowedNetwork
from dashboard.serve.monitoring.domain_metrics import DomainMetrics, counter, gauge
from dashboard.store.health import WorkState, work_state
from dashboard.transport.http_connection import HttpReply, json_reply
from dashboard.wire.gas import encode_error

_FORWARDED: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"})
"""Headers that reverse proxies add: behind one, every client seems to come from loopback."""

_OPEN_STATES: Final = (
    IncidentState.FIRING,
    IncidentState.ACKNOWLEDGED,
    IncidentState.SILENCED,
    IncidentState.NO_DATA,
)
_COUNTED: Final = timedelta(days=30)
"""For how long sent or dead notifications are counted, as on the pages."""

_REUSED_FOR: Final = 1.0
"""Seconds for which the answer of the store is reused: many may scrape."""

_REMEDY: Final = "If this name is yours, add it to http.allowed_hosts."


class MetricsPage:
    """Answers ``/metrics`` to this machine, and to every client with the metrics key."""

    def __init__(self, dependencies: ServeDependencies, fees: Collection[FollowedNetwork]) -> None:
        key = dependencies.metrics_key
        names = {each.network_id: each.name for each in dependencies.networks}
        self._collector = MetricsCollector(dependencies.counters, fees, names, dependencies.clock)
        self._store, self._clock = dependencies.store, dependencies.clock
        self._network_ids = tuple(names)
        self._domain = DomainMetrics(names)
        self._lock = anyio.Lock()
        self._read_at = -_REUSED_FOR
        self._known_work: WorkState | None = None
        self._allowed_hosts = dependencies.allowed_hosts
        self._registry = CollectorRegistry()
        self._registry.register(self._collector)
        self._registry.register(self._domain)
        ProcessCollector(registry=self._registry)
        self._bearer = f"Bearer {key.reveal()}".encode() if key else None

    async def answer(self, scope: Scope, *, store_is_up: bool) -> HttpReply:
        """Answer a GET or HEAD request."""
        headers = dict(scope["headers"])
        if not self._has_key(headers):
            if not _is_from_this_machine(scope, headers):
                return self._refusal()
            if foreign := self._allowed_hosts.refusal(scope["headers"]):
                return json_reply(encode_error(403, f"{foreign} {_REMEDY}"), 403)
        self._collector.work = await self._work()
        self._collector.store_is_up = store_is_up
        body = generate_latest(self._registry)
        length = b"%d" % len(body)
        kind = CONTENT_TYPE_PLAIN_0_0_4.encode()
        return HttpReply(200, [(b"content-type", kind), (b"content-length", length)], body)

    async def _work(self) -> WorkState | None:
        """Return the state of the work, None if the store cannot say; at most a second old."""
        async with self._lock:
            if anyio.current_time() - self._read_at >= _REUSED_FOR:
                self._known_work = await to_thread.run_sync(self._read_work)
                self._read_at = anyio.current_time()
            return self._known_work

    def _read_work(self) -> WorkState | None:
        try:
            with self._store.read() as connection:
                self._domain.read(connection, self._clock())
                return work_state(connection, self._network_ids, self._clock() - _COUNTED)
        except StoreError:
            self._domain.figures = None
            return None

    def _has_key(self, headers: Mapping[bytes, bytes]) -> bool:
        presented = headers.get(b"authorization", b"")
        return self._bearer is not None and hmac.compare_digest(presented, self._bearer)

    def _refusal(self) -> HttpReply:
        message = "Metrics are for this machine, or with the key that serve.metrics_key holds."
        if self._bearer is None:
            return json_reply(encode_error(403, message), 403)
        realm = (b"www-authenticate", b'Bearer realm="linewatch"')
        return json_reply(encode_error(401, message), 401, [realm])


def _is_from_this_machine(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Whether the client is on this machine and is not a reverse proxy."""
    if not scope.get("client") or _FORWARDED & headers.keys():
        return False
    try:
        return ipaddress.ip_address(scope["client"][0]).is_loopback
    except ValueError:
        return False


class MetricsCollector(Collector):
    """Reads the counters when Prometheus scrapes, so that counting stays cheap."""

    def __init__(
        self,
        counters: Counters,
        fees: Collection[FollowedNetwork],
        names: Mapping[NetworkId, str],
        clock: Clock,
    ) -> None:
        """Collect these; `names` are those of all networks, and ages are measured by `clock`.

        `work` is None if the store does not know it.
        """
        self.store_is_up = False
        self.work: WorkState | None = None
        self._names = names
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
        if self.work is not None:
            yield from self._worker(self.work)
            yield from self._alerts(self.work)

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
        about = "Lookups of hashes, by what was found."
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

    def _worker(self, work: WorkState) -> Iterator[Metric]:
        about = "Whether a worker is running: 0 where it ended, is paused or is cut off."
        yield gauge("worker_up", about, work.has_worker)
        now = self._clock()
        ages = {
            (self._names[network_id], str(operation)): (now - at).total_seconds()
            for (network_id, operation), at in work.answered_at.items()
        }
        about = "Time since a question of the worker was last answered."
        yield gauge("source_answer_age_seconds", about, ages, "network", "operation")
        failing = {
            (self._names[network_id], str(operation)): (network_id, operation) in work.failing
            for network_id, operation in sorted({*work.answered_at, *work.failing})
        }
        about = "Whether a question of the worker failed and was not answered since."
        yield gauge("source_failing", about, failing, "network", "operation")
        if work.free_on_disk is not None:
            room = work.free_on_disk
            yield gauge("store_disk_free_bytes", "Room on the disk of the store.", room)

    def _alerts(self, work: WorkState) -> Iterator[Metric]:
        counts, now = work.notifications, self._clock()
        incidents = {
            (severity.value, state.value): work.incidents[severity, state]
            for severity in Severity
            for state in _OPEN_STATES
        }
        yield gauge("incidents", "Open incidents.", incidents, "severity", "state")
        about = "Changes that are not turned into notifications yet."
        yield gauge("changes_pending", about, counts.pending_changes)
        of_states = {
            NotificationState.PENDING: counts.pending,
            NotificationState.HELD: counts.held,
            NotificationState.SENT: counts.sent,
            NotificationState.DEAD: counts.dead,
        }
        about = "Notifications pending and held now, sent and dead of those of the last 30 days."
        yield gauge("notifications", about, of_states, "state")
        about = "Pending notifications that wait neither for their time nor for the cap."
        yield gauge("notifications_in_delivery", about, counts.in_delivery)
        began = counts.in_delivery_since
        age = 0.0 if began is None else (now - began).total_seconds()
        about = "Time since the oldest of them could be sent; 0 without any."
        yield gauge("notifications_in_delivery_age_seconds", about, age)
