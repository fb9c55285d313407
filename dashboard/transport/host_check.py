"""The check in front of each app: which host names and web pages may ask a server of ours."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.domain.allowed_hosts import AllowedHosts, origin_authority
from dashboard.logs import get_logger

_REMEDY: Final = (
    "If this name is yours, add it to http.allowed_hosts, or set pages.public_url to the "
    "address that people use, with its port. List web sites that may call serve in "
    "serve.cors_origins."
)
_MOST_LOGGED: Final = 20
"""How many refusals are logged, each text once: enough to find a wrong proxy, too few to fill a
disk."""

_log = get_logger("host check")


class HostCheck:
    """ASGI middleware that answers 403 to requests and WebSockets of foreign names and pages."""

    def __init__(self, app: ASGIApp, allowed: AllowedHosts) -> None:
        self._app = app
        self._allowed = allowed
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        refusal = self._allowed.refusal(scope["headers"])
        if refusal is None:
            await self._app(_with_host_of_origin(scope), receive, send)
            return
        if len(self._logged) < _MOST_LOGGED and refusal not in self._logged:
            self._logged.add(refusal)
            _log.warning("a request was refused", why=refusal, remedy=_REMEDY)
        await _refuse(f"{refusal} {_REMEDY}\n".encode(), scope, send)


def _with_host_of_origin(scope: Scope) -> Scope:
    """Set the Host of a request to that of its Origin, which was checked to be ours.

    Streamlit compares the two on a WebSocket; if a proxy made them differ, it asks a host on the
    internet which address this machine has.
    """
    headers = dict(scope["headers"])
    authority = origin_authority(headers.get(b"origin", b"").decode("latin-1"))
    if authority is None or authority.encode() == headers[b"host"]:
        return scope
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {**scope, "headers": [(b"host", authority.encode()), *others]}


async def _refuse(body: bytes, scope: Scope, send: Send) -> None:
    prefix = ""
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close"})  # the server says 403 by itself
            return
        prefix = "websocket."
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"x-content-type-options", b"nosniff"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": f"{prefix}http.response.start", "status": 403, "headers": headers})
    await send({"type": f"{prefix}http.response.body", "body": body})
