"""The page of metrics for Prometheus: who may read it, and when the store is asked for it."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Final

import anyio
from anyio import to_thread
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import Scope

from dashboard.errors import StoreError
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.gas import FollowedNetwork
from dashboard.serve.monitoring.serve_metrics import ServeMetrics
from dashboard.serve.monitoring.store_metrics import NetworkMetrics, WorkerMetrics
from dashboard.store.health import WorkState, work_state
from dashboard.transport.http_connection import HttpReply, json_reply
from dashboard.wire.gas import encode_error

_FORWARDED: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"})
"""Headers that reverse proxies add: behind one, every client seems to come from loopback."""

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
        self._serve = ServeMetrics(dependencies.counters, fees, dependencies.clock)
        self._store, self._clock = dependencies.store, dependencies.clock
        self._network_ids = tuple(names)
        self._worker = WorkerMetrics(names, dependencies.clock)
        self._watched = NetworkMetrics(names)
        self._lock = anyio.Lock()
        self._read_at = -_REUSED_FOR
        self._known_work: WorkState | None = None
        self._allowed_hosts = dependencies.allowed_hosts
        self._registry = CollectorRegistry()
        for each in (self._serve, self._worker, self._watched):
            self._registry.register(each)
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
        self._worker.work = await self._work()
        self._serve.store_is_up = store_is_up
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
                self._watched.read(connection, self._clock())
                return work_state(connection, self._network_ids, self._clock() - _COUNTED)
        except StoreError:
            self._watched.figures = None
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
