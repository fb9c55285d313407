"""Which address leads where, and who may go there.

Every POST that leads nowhere is taken for a call of the RPC and gets its 401, as does every
verb at ``/v3/<key>`` without a right key; whatever else leads nowhere is not found. The gas API
and the health pages tell a wrong verb before they look at a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dashboard.serve import access, health, websocket
from dashboard.serve.exclusion import exclusion_methods
from dashboard.serve.gas import GasApi, status_error
from dashboard.serve.http import INVALID_PROJECT_ID, RpcOverHttp, rpc_error
from dashboard.serve.jsonrpc import JsonRpc
from dashboard.serve.keys import ApiKey, basic_credentials
from dashboard.serve.services import ServeServices

_READING: Final = "GET, HEAD, OPTIONS"
_CALLING: Final = "POST, OPTIONS"


class Switchboard:
    """Leads each request to its endpoint, and only those with a key beyond the health pages."""

    def __init__(self, services: ServeServices, gas: GasApi, readiness: health.Readiness) -> None:
        """Answer whoever is on the key ring of `services`."""
        rpc = JsonRpc(
            exclusion_methods(services),
            services.gate,
            services.counters,
            services.limits.largest_batch,
        )
        self._keys = services.keys
        self._gas = gas
        self._readiness = readiness
        self._http = RpcOverHttp(rpc, services.limits.largest_body)
        self._websocket = websocket.RpcOverWebSocket(rpc, services.limits.largest_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        segments = scope["path"].split("/")[1:]
        if scope["type"] == "websocket":
            await self._converse(segments, scope, receive, send)
            return
        scope[access.ROUTE], verbs = _route(segments)
        if verbs and scope["method"] == "OPTIONS":
            response = Response(status_code=204, headers={"Allow": verbs})
        elif verbs == _READING and scope["method"] not in verbs.split(", "):
            response = _wrong_verb(verbs)
        else:
            response = await self._answer(segments, scope, receive)
        await response(scope, receive, send)

    async def _answer(self, segments: Sequence[str], scope: Scope, receive: Receive) -> Response:
        match segments:
            case ["live"]:
                response = health.live()
            case ["ready"]:
                response = await self._readiness.answer()
            case ["networks", *operation]:
                response = self._gas_by_basic(operation, scope)
            case ["v3", key, "networks", *operation]:
                response = self._gas_by_key(key, operation, scope)
            case ["v3", *rest]:
                response = await self._rpc(rest, scope, receive)
            case ["ws", "v3", _]:
                upgrade = {"Upgrade": "websocket"}
                response = status_error(426, "This address speaks WebSocket.", upgrade)
            case _:
                response = _nothing_here(scope)
        return response

    async def _rpc(self, rest: Sequence[str], scope: Scope, receive: Receive) -> Response:
        caller = _noted(self._keys.find(rest[0] if rest else ""), scope)
        if caller is None:
            return rpc_error(401, INVALID_PROJECT_ID)
        if len(rest) > 1:
            return _nothing_here(scope)
        if scope["method"] != "POST":
            return _wrong_verb(_CALLING)
        return await self._http.answer(receive, caller)

    def _gas_by_key(self, key: str, operation: Sequence[str], scope: Scope) -> Response:
        caller = _noted(self._keys.find(key), scope)
        if caller is None:
            return status_error(401, INVALID_PROJECT_ID.message)
        return self._gas.answer(operation, caller)

    def _gas_by_basic(self, operation: Sequence[str], scope: Scope) -> Response:
        header = Headers(scope=scope).get("authorization")
        credentials = basic_credentials(header)
        caller = self._keys.find_with_secret(*credentials) if credentials else None
        if _noted(caller, scope) is None or caller is None:
            wrong, absent = "invalid project id or project secret", "project id required in the url"
            realm = {"WWW-Authenticate": 'Basic realm="linewatch"'}
            return status_error(401, absent if header is None else wrong, realm)
        return self._gas.answer(operation, caller)

    async def _converse(
        self, segments: Sequence[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Talk to a WebSocket client that has a key; any other gets 401."""
        is_rpc = segments[:2] == ["ws", "v3"] and len(segments) == len(("ws", "v3", "key"))
        caller = self._keys.find(segments[-1]) if is_rpc else None
        if caller is None:
            await websocket.refuse(scope, receive, send)
        else:
            await self._websocket.converse(receive, send, caller)


def _route(segments: Sequence[str]) -> tuple[str, str]:
    """Return how logs call an address, without its key, and the verbs that it knows."""
    match segments:
        case ["v3", _]:
            return "/v3/<key>", _CALLING
        case ["v3", _, "networks", *_]:
            return "/v3/<key>/networks", _READING
        case ["networks", *_]:
            return "/networks", _READING
        case ["live" | "ready" as probe]:
            return f"/{probe}", _READING
        case _:
            return "unknown", ""


def _nothing_here(scope: Scope) -> Response:
    if scope["method"] == "POST":
        return rpc_error(401, INVALID_PROJECT_ID)
    return status_error(404, "Nothing is served at this address.")


def _wrong_verb(verbs: str) -> Response:
    return status_error(405, f"Only {verbs} are answered here.", {"Allow": verbs})


def _noted(caller: ApiKey | None, scope: Scope) -> ApiKey | None:
    """Leave the caller's name for the log."""
    scope[access.CALLER] = caller.name if caller else None
    return caller
