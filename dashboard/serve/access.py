"""One line in the log for each answered request: what was asked and who asked, never a key."""

from __future__ import annotations

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.logs import get_logger

ROUTE: Final = "linewatch.route"
"""Where a request's scope holds its address with ``<key>`` for the key."""

CALLER: Final = "linewatch.caller"
"""Where a request's scope holds the name of the key that it came with."""

_PROBES: Final = frozenset({"/live", "/ready"})

_log = get_logger(__name__)


class AccessLog:
    """Middleware that logs by the names that the app leaves in the scope.

    The path itself is never logged: it holds a key, perhaps in an unexpected place.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Log the requests of `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        finally:
            if scope.get(ROUTE) not in _PROBES:
                _log.info(
                    "Request answered",
                    verb=scope["method"],
                    route=scope.get(ROUTE, "unknown"),
                    status=status,
                    key=scope.get(CALLER),
                    milliseconds=round((time.perf_counter() - started) * 1_000, 1),
                )
