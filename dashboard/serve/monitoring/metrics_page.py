"""Who may read the metrics: this machine, and whoever presents the key for it."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import Scope

from dashboard.serve.gas.followed_networks import NetworkFees
from dashboard.serve.monitoring.exposition import Exposition
from dashboard.serve.reply import Reply, json_reply
from dashboard.serve.services import ServeServices
from dashboard.wire.gas_error import encode_error

_FORWARDED: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"})
"""Headers that reverse proxies add: behind one, everybody seems to come from loopback."""

_REMEDY: Final = "If this name is yours, add it to http.allowed_hosts."


class MetricsPage:
    """Answers ``/metrics``: to loopback, and to whoever presents the key for it."""

    def __init__(self, services: ServeServices, fees: Collection[NetworkFees]) -> None:
        """Tell the counters of `services` and the state of `fees`."""
        key = services.metrics_key
        self._exposition = Exposition(services.counters, fees, services.clock)
        self._allowed_hosts = services.allowed_hosts
        self._registry = CollectorRegistry()
        self._registry.register(self._exposition)
        ProcessCollector(registry=self._registry)
        self._bearer = f"Bearer {key.reveal()}".encode() if key else None

    def answer(self, scope: Scope, *, store_is_up: bool) -> Reply:
        """Answer one request that GET or HEAD made."""
        headers = dict(scope["headers"])
        if not self._has_key(headers):
            if not _is_from_this_machine(scope, headers):
                return self._refusal()
            if foreign := self._allowed_hosts.refusal(scope["headers"]):
                return json_reply(encode_error(403, f"{foreign} {_REMEDY}"), 403)
        self._exposition.store_is_up = store_is_up
        body = generate_latest(self._registry)
        length = b"%d" % len(body)
        kind = CONTENT_TYPE_PLAIN_0_0_4.encode()
        return Reply(200, [(b"content-type", kind), (b"content-length", length)], body)

    def _has_key(self, headers: Mapping[bytes, bytes]) -> bool:
        presented = headers.get(b"authorization", b"")
        return self._bearer is not None and hmac.compare_digest(presented, self._bearer)

    def _refusal(self) -> Reply:
        message = "Metrics are for this machine, or with the key that serve.metrics_key holds."
        if self._bearer is None:
            return json_reply(encode_error(403, message), 403)
        realm = (b"www-authenticate", b'Bearer realm="linewatch"')
        return json_reply(encode_error(401, message), 401, [realm])


def _is_from_this_machine(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Whether the client itself is on this machine, and no proxy that speaks for others."""
    if not scope.get("client") or _FORWARDED & headers.keys():
        return False
    try:
        return ipaddress.ip_address(scope["client"][0]).is_loopback
    except ValueError:
        return False
