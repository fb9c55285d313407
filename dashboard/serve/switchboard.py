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

from dashboard.serve import access, health, routes, websocket
from dashboard.serve.gas import GasApi, status_error
from dashboard.serve.http import INVALID_PROJECT_ID, RpcOverHttp, rpc_error
from dashboard.serve.jsonrpc import JsonRpc
from dashboard.serve.keys import ApiKey, basic_credentials
from dashboard.serve.methods import served_methods
from dashboard.serve.metrics import Refusal
from dashboard.serve.reply import Reply
from dashboard.serve.routes import Route, route_of
from dashboard.serve.services import ServeServices

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
        documents: Mapping[str, Reply],
    ) -> None:
        """Answer whoever is on the key ring of `services`, and anybody who reads `documents`."""
        rpc = JsonRpc(
            served_methods(services),
            services.gate,
            services.counters,
            services.limits.largest_batch,
        )
        self._keys = services.keys
        self._gas = gas
        self._readiness = readiness
        self._documents = documents
        self._counters = services.counters
        self._tallies = {each.name: services.counters.route(each.name) for each in routes.ALL}
        self._http = RpcOverHttp(rpc, services.limits.largest_body)
        self._websocket = websocket.RpcOverWebSocket(rpc, services.limits.terms, services.counters)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        started = perf_counter()
        path: str = scope["path"]
        segments = path.split("/")[1:] or [""]
        route = routes.DOCUMENT if path in self._documents else route_of(segments)
        scope[access.ROUTE] = route.name
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
        """Talk to a WebSocket client that has a key; any other gets 401."""
        segments = scope["path"].split("/")[1:] or [""]
        caller = self._keys.find(segments[-1]) if route_of(segments) is routes.WEBSOCKET else None
        if caller is None:
            self._counters.refusals["key"] += 1
            await websocket.refuse(scope, receive, send)
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
        if route is routes.LIVE:
            return health.live()
        if route is routes.READY:
            return await self._readiness.answer()
        if route is routes.WEBSOCKET:
            upgrade = {"Upgrade": "websocket"}
            return status_error(426, "This address speaks WebSocket.", upgrade)
        is_rpc = route is routes.RPC or route is routes.RPC_ELSEWHERE
        if is_rpc and self._known("".join(segments[1:2]), scope) is None:
            return rpc_error(401, INVALID_PROJECT_ID)
        return _wrong_verb(route) if route.verbs else _nothing_here(scope)

    async def _rpc(self, key: str, scope: Scope, receive: Receive) -> Answer:
        caller = self._known(key, scope)
        if caller is None:
            return rpc_error(401, INVALID_PROJECT_ID)
        return await self._http.answer(receive, caller)

    def _gas_by_key(self, key: str, operation: Sequence[str], scope: Scope) -> Answer:
        caller = self._known(key, scope)
        if caller is None:
            return status_error(401, INVALID_PROJECT_ID.message)
        return self._gas.answer(operation, caller)

    def _gas_by_basic(self, operation: Sequence[str], scope: Scope) -> Answer:
        header = Headers(scope=scope).get("authorization")
        credentials = basic_credentials(header)
        caller = self._keys.find_with_secret(*credentials) if credentials else None
        if caller is None:
            wrong, absent = "invalid project id or project secret", "project id required in the url"
            realm = {"WWW-Authenticate": 'Basic realm="linewatch"'}
            return status_error(401, absent if header is None else wrong, realm)
        scope[access.CALLER] = caller.name
        return self._gas.answer(operation, caller)

    def _known(self, key: str, scope: Scope) -> ApiKey | None:
        """Find whose key it is, and leave the caller's name for the log."""
        caller = self._keys.find(key)
        if caller is not None:
            scope[access.CALLER] = caller.name
        return caller


def _nothing_here(scope: Scope) -> Answer:
    if scope["method"] == "POST":
        return rpc_error(401, INVALID_PROJECT_ID)
    return status_error(404, "Nothing is served at this address.")


def _wrong_verb(route: Route) -> Answer:
    return status_error(405, f"Only {route.allow} are answered here.", {"Allow": route.allow})
