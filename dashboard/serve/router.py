"""Routing: which path is answered by what, and who may call it.

A POST to an unknown path counts as a call of the RPC and is answered 401, as is every verb at
``/v3/<key>`` without a valid key; every other unknown path is answered 404. The gas API and the
health pages refuse a wrong verb before they check a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dashboard.domain.health.observation import FEE_OPERATIONS
from dashboard.domain.people.access import ApiKey
from dashboard.serve import routes
from dashboard.serve.counters import RefusalReason
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.gas import GasApi, status_error
from dashboard.serve.keys.key_ring import Authenticator, Unauthenticated
from dashboard.serve.monitoring import health
from dashboard.serve.monitoring.metrics_page import MetricsPage
from dashboard.serve.routes import Route, route_of
from dashboard.serve.rpc import websocket_endpoint
from dashboard.serve.rpc.dispatch import INVALID_PROJECT_ID, Dispatcher, HttpEndpoint, rpc_error
from dashboard.serve.rpc.exclusion_status import StatusReader
from dashboard.serve.rpc.methods import served_methods
from dashboard.tracing import tracing
from dashboard.transport.http_connection import HttpReply
from dashboard.wire.jsonrpc import RpcError

AnyReply = Response | HttpReply
"""Both are ASGI apps that send themselves."""

_INTERNAL_ERROR: Final = 500
_REFUSALS: Final[Mapping[int, RefusalReason]] = {
    401: "key",
    403: "method",
    413: "size",
    429: "rate",
}


class Router:
    """Passes each request to its endpoint, those for the APIs only with a valid key."""

    def __init__(
        self,
        dependencies: ServeDependencies,
        gas: GasApi,
        readiness: health.Readiness,
        metrics: MetricsPage,
        documents: Mapping[str, HttpReply],
    ) -> None:
        """Answer callers with a key of `dependencies`, and everybody who reads `documents`."""
        status_reader = StatusReader(dependencies)
        rpc = Dispatcher(
            served_methods(dependencies, status_reader),
            dependencies.key_limiter,
            dependencies.counters,
            dependencies.limits.largest_batch,
            status_reader.quick_records,
        )
        self._authenticator = Authenticator(dependencies.keys, dependencies.authentication_throttle)
        self._key_limiter = dependencies.key_limiter
        self._gas = gas
        self._readiness = readiness
        self._metrics = metrics
        self._documents = documents
        self._counters = dependencies.counters
        self._route_counts = {
            each.name: dependencies.counters.route(each.name) for each in routes.ALL
        }
        self._http = HttpEndpoint(rpc, dependencies.limits.largest_body)
        self._websocket = websocket_endpoint.WebSocketEndpoint(
            rpc,
            dependencies.limits,
            dependencies.counters,
            dependencies.keys,
            dependencies.sessions,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        path: str = scope["path"]
        segments = path.split("/")[1:] or [""]
        is_call = path == "/" and scope["method"] == "POST"  # a client of the RPC without its key
        is_document = path in self._documents and not is_call
        route = routes.DOCUMENT if is_document else route_of(segments)
        scope[routes.SCOPE_ROUTE] = route.name
        status = _INTERNAL_ERROR
        try:
            with tracing.span("API request", route=route.name):
                reply = await self._answer(route, segments, scope, receive)
                status = reply.status_code
                await reply(scope, receive, send)
        finally:
            self._route_counts[route.name].count(status, perf_counter() - started)
            if status in _REFUSALS:
                self._counters.refusals[_REFUSALS[status]] += 1

    async def handle_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a WebSocket client that has a key; answer others 401, or 429 after too many."""
        segments = scope["path"].split("/")[1:] or [""]
        is_rpc = route_of(segments) is routes.WEBSOCKET
        caller = self._authenticator.by_key(segments[-1], scope) if is_rpc else Unauthenticated()
        if isinstance(caller, Unauthenticated):
            self._counters.refusals["rate" if caller.wait else "key"] += 1
            await websocket_endpoint.refuse(scope, receive, send, caller.wait)
            return
        self._counters.websockets += 1
        try:
            await self._websocket.handle_websocket(scope, receive, send, caller)
        finally:
            self._counters.websockets -= 1

    async def _answer(
        self, route: Route, segments: Sequence[str], scope: Scope, receive: Receive
    ) -> AnyReply:
        verb: str = scope["method"]
        if route is routes.RPC and verb == "POST":
            return await self._rpc(segments[1], scope, receive)
        if verb == "OPTIONS" and route.verbs:
            return HttpReply(204, [(b"allow", route.allow.encode())])
        if route.verbs is routes.READING and verb not in route.verbs:
            return _wrong_verb(route)
        if route is routes.GAS_BY_KEY:
            return self._gas_by_key(segments[1], segments[3:], scope)
        if route is routes.GAS_BY_BASIC:
            return self._gas_by_basic(segments[1:], scope)
        return await self._other(route, segments, scope)

    async def _other(self, route: Route, segments: Sequence[str], scope: Scope) -> AnyReply:
        """Answer rare requests last, so that they cost the APIs no comparison."""
        if route is routes.DOCUMENT:
            return self._documents[scope["path"]]
        if route in routes.PROBES:
            return await self._probe(route, scope)
        if route is routes.WEBSOCKET:
            upgrade = {"Upgrade": "websocket"}
            return status_error(426, "This address speaks WebSocket.", upgrade)
        if route is routes.RPC or route is routes.RPC_ELSEWHERE:
            caller = self._authenticator.by_key("".join(segments[1:2]), scope)
            if isinstance(caller, Unauthenticated):
                return _refuse_rpc(caller)
        return _wrong_verb(route) if route.verbs else _not_found(scope)

    async def _probe(self, route: Route, scope: Scope) -> AnyReply:
        if route is routes.LIVE:
            return health.live()
        if route is routes.READY:
            return await self._readiness.answer()
        return await self._metrics.answer(scope, store_is_up=await self._readiness.store_is_up())

    async def _rpc(self, key: str, scope: Scope, receive: Receive) -> AnyReply:
        caller = self._authenticator.by_key(key, scope)
        if isinstance(caller, Unauthenticated):
            return _refuse_rpc(caller)
        return await self._http.answer(receive, caller)

    def _gas_by_key(self, key: str, operation: Sequence[str], scope: Scope) -> AnyReply:
        caller = self._authenticator.by_key(key, scope)
        if isinstance(caller, Unauthenticated):
            return _rate_refusal(caller.wait) or status_error(401, INVALID_PROJECT_ID.message)
        return self._gas_of(operation, caller)

    def _gas_by_basic(self, operation: Sequence[str], scope: Scope) -> AnyReply:
        header = Headers(scope=scope).get("authorization")
        caller = self._authenticator.by_basic(header, scope)
        if isinstance(caller, Unauthenticated):
            wrong, absent = "invalid project id or project secret", "project id required in the url"
            realm = {"WWW-Authenticate": 'Basic realm="linewatch"'}
            message = absent if header is None else wrong
            return _rate_refusal(caller.wait) or status_error(401, message, realm)
        return self._gas_of(operation, caller)

    def _gas_of(self, operation: Sequence[str], caller: ApiKey) -> AnyReply:
        """Answer within the limits of the key; each request counts as one call."""
        refusal = _rate_refusal(self._key_limiter.admit(caller, 1))
        if refusal is not None:
            return refusal
        name = operation[-1] if operation else ""
        if name in FEE_OPERATIONS and not self._key_limiter.allows(caller, name):
            self._key_limiter.count_refusals(caller)
            return status_error(403, RpcError.not_allowed().message)
        return self._gas.answer(operation, caller)


def _refuse_rpc(unauthenticated: Unauthenticated) -> AnyReply:
    """Refuse a call of the RPC without a valid key."""
    if not unauthenticated.wait:
        return rpc_error(401, INVALID_PROJECT_ID)
    error = RpcError.rate_exceeded(unauthenticated.wait, None)
    return rpc_error(429, error, {"Retry-After": str(unauthenticated.wait)})


def _rate_refusal(wait: int) -> AnyReply | None:
    """Refuse a request of the gas API for `wait` seconds; None if that is 0."""
    if not wait:
        return None
    message = RpcError.rate_exceeded(wait, None).message
    return status_error(429, message, {"Retry-After": str(wait)})


def _not_found(scope: Scope) -> AnyReply:
    if scope["method"] == "POST":
        return rpc_error(401, INVALID_PROJECT_ID)
    return status_error(404, "Nothing is served at this address.")


def _wrong_verb(route: Route) -> AnyReply:
    return status_error(405, f"Only {route.allow} are answered here.", {"Allow": route.allow})
