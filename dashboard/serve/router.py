"""Which address leads where, and who may go there.

Every POST that leads nowhere is taken for a call of the RPC and gets its 401, as does every
verb at ``/v3/<key>`` without a right key; whatever else leads nowhere is not found. The gas API
and the health pages tell a wrong verb before they look at a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dashboard.serve import routes
from dashboard.serve.counters import Refusal
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.gas.api import OPERATIONS, GasApi, status_error
from dashboard.serve.http_reply import Reply
from dashboard.serve.keys.authentication import Doors, Stranger
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.monitoring import health
from dashboard.serve.monitoring.metrics import MetricsPage
from dashboard.serve.routes import Route, route_of
from dashboard.serve.rpc import websocket_endpoint
from dashboard.serve.rpc.dispatch import JsonRpc
from dashboard.serve.rpc.exclusion_status import Lookups
from dashboard.serve.rpc.http_endpoint import INVALID_PROJECT_ID, RpcOverHttp, rpc_error
from dashboard.serve.rpc.methods import served_methods
from dashboard.wire.jsonrpc_errors import RpcFault

Answer = Response | Reply
"""What answers a request; both send themselves."""

_BROKEN: Final = 500
_REFUSALS: Final[Mapping[int, Refusal]] = {401: "key", 403: "method", 413: "size", 429: "rate"}


class Switchboard:
    """Leads each request to its endpoint, and only those with a key beyond the health pages."""

    def __init__(
        self,
        services: ServeServices,
        gas: GasApi,
        readiness: health.Readiness,
        metrics: MetricsPage,
        documents: Mapping[str, Reply],
    ) -> None:
        """Answer whoever is on the key ring of `services`, and anybody who reads `documents`."""
        lookups = Lookups(services)
        rpc = JsonRpc(
            served_methods(services, lookups),
            services.gate,
            services.counters,
            services.limits.largest_batch,
            lookups,
        )
        self._doors = Doors(services.keys, services.strangers)
        self._gate = services.gate
        self._gas = gas
        self._readiness = readiness
        self._metrics = metrics
        self._documents = documents
        self._counters = services.counters
        self._tallies = {each.name: services.counters.route(each.name) for each in routes.ALL}
        self._http = RpcOverHttp(rpc, services.limits.largest_body)
        self._websocket = websocket_endpoint.RpcOverWebSocket(
            rpc, services.limits.terms, services.counters, services.keys
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        started = perf_counter()
        path: str = scope["path"]
        segments = path.split("/")[1:] or [""]
        is_call = path == "/" and scope["method"] == "POST"  # a client of the RPC without its key
        is_document = path in self._documents and not is_call
        route = routes.DOCUMENT if is_document else route_of(segments)
        scope[routes.SCOPE_ROUTE] = route.name
        status = _BROKEN
        try:
            answer = await self._answer(route, segments, scope, receive)
            status = answer.status_code
            await answer(scope, receive, send)
        finally:
            self._tallies[route.name].answered(status, perf_counter() - started)
            if status in _REFUSALS:
                self._counters.refusals[_REFUSALS[status]] += 1

    async def converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Talk to a WebSocket client that has a key; any other gets 401, or 429 after too many."""
        segments = scope["path"].split("/")[1:] or [""]
        is_rpc = route_of(segments) is routes.WEBSOCKET
        caller = self._doors.by_key(segments[-1], scope) if is_rpc else Stranger()
        if isinstance(caller, Stranger):
            self._counters.refusals["rate" if caller.wait else "key"] += 1
            await websocket_endpoint.refuse(scope, receive, send, caller.wait)
            return
        self._counters.websockets += 1
        try:
            await self._websocket.converse(scope, receive, send, caller)
        finally:
            self._counters.websockets -= 1

    async def _answer(
        self, route: Route, segments: Sequence[str], scope: Scope, receive: Receive
    ) -> Answer:
        verb: str = scope["method"]
        if route is routes.RPC and verb == "POST":
            return await self._rpc(segments[1], scope, receive)
        if verb == "OPTIONS" and route.verbs:
            return Reply(204, [(b"allow", route.allow.encode())])
        if route.verbs is routes.READING and verb not in route.verbs:
            return _wrong_verb(route)
        if route is routes.GAS_BY_KEY:
            return self._gas_by_key(segments[1], segments[3:], scope)
        if route is routes.GAS_BY_BASIC:
            return self._gas_by_basic(segments[1:], scope)
        return await self._rest(route, segments, scope)

    async def _rest(self, route: Route, segments: Sequence[str], scope: Scope) -> Answer:
        """Answer what is seldom asked."""
        if route is routes.DOCUMENT:
            return self._documents[scope["path"]]
        if route in routes.PROBES:
            return await self._probe(route, scope)
        if route is routes.WEBSOCKET:
            upgrade = {"Upgrade": "websocket"}
            return status_error(426, "This address speaks WebSocket.", upgrade)
        if route is routes.RPC or route is routes.RPC_ELSEWHERE:
            caller = self._doors.by_key("".join(segments[1:2]), scope)
            if isinstance(caller, Stranger):
                return _unknown(caller)
        return _wrong_verb(route) if route.verbs else _nothing_here(scope)

    async def _probe(self, route: Route, scope: Scope) -> Answer:
        if route is routes.LIVE:
            return health.live()
        if route is routes.READY:
            return await self._readiness.answer()
        return self._metrics.answer(scope, store_is_up=await self._readiness.store_is_up())

    async def _rpc(self, key: str, scope: Scope, receive: Receive) -> Answer:
        caller = self._doors.by_key(key, scope)
        if isinstance(caller, Stranger):
            return _unknown(caller)
        return await self._http.answer(receive, caller)

    def _gas_by_key(self, key: str, operation: Sequence[str], scope: Scope) -> Answer:
        caller = self._doors.by_key(key, scope)
        if isinstance(caller, Stranger):
            return _too_many(caller.wait) or status_error(401, INVALID_PROJECT_ID.message)
        return self._gas_of(operation, caller)

    def _gas_by_basic(self, operation: Sequence[str], scope: Scope) -> Answer:
        header = Headers(scope=scope).get("authorization")
        caller = self._doors.by_basic(header, scope)
        if isinstance(caller, Stranger):
            wrong, absent = "invalid project id or project secret", "project id required in the url"
            realm = {"WWW-Authenticate": 'Basic realm="linewatch"'}
            message = absent if header is None else wrong
            return _too_many(caller.wait) or status_error(401, message, realm)
        return self._gas_of(operation, caller)

    def _gas_of(self, operation: Sequence[str], caller: ApiKey) -> Answer:
        """Answer a caller as its key allows; each request counts as one call."""
        refusal = _too_many(self._gate.admit(caller, 1))
        if refusal is not None:
            return refusal
        name = operation[-1] if operation else ""
        if name in OPERATIONS and not self._gate.allows(caller, name):
            self._gate.refused(caller)
            return status_error(403, RpcFault.not_allowed().message)
        return self._gas.answer(operation, caller)


def _unknown(stranger: Stranger) -> Answer:
    """Refuse who calls the RPC without a right key."""
    if not stranger.wait:
        return rpc_error(401, INVALID_PROJECT_ID)
    fault = RpcFault.rate_exceeded(stranger.wait, None)
    return rpc_error(429, fault, {"Retry-After": str(stranger.wait)})


def _too_many(wait: int) -> Answer | None:
    """Refuse a request of the gas API for so many seconds, none where there are none."""
    if not wait:
        return None
    message = RpcFault.rate_exceeded(wait, None).message
    return status_error(429, message, {"Retry-After": str(wait)})


def _nothing_here(scope: Scope) -> Answer:
    if scope["method"] == "POST":
        return rpc_error(401, INVALID_PROJECT_ID)
    return status_error(404, "Nothing is served at this address.")


def _wrong_verb(route: Route) -> Answer:
    return status_error(405, f"Only {route.allow} are answered here.", {"Allow": route.allow})
