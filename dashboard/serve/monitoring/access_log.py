"""The access log: a line for each answered request, with the caller's name, never a key."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve import routes
from dashboard.serve.counters import Counters, called_methods

_PROBES: Final = frozenset(route.name for route in routes.PROBES)
_VERBS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_log = get_logger(__name__)


class AccessLog:
    """Middleware that logs the route and the caller that the app has put into the scope.

    Paths and headers are never logged: a key may be in either, also in an unexpected place. Only
    methods and verbs that are served are named.
    """

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        """Log the requests of `app`, which counts its calls in `counters`."""
        self._app = app
        counters.is_listing_methods = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        methods: Counter[str] = Counter()
        token = called_methods.set(methods)
        status, size = 0, 0

        async def send_and_measure(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = int(message["status"])
            elif scope["method"] != "HEAD":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, send_and_measure)
        finally:
            called_methods.reset(token)
            if scope.get(routes.SCOPE_ROUTE) not in _PROBES:
                verb = scope["method"]
                _log.info(
                    "Request answered",
                    verb=verb if verb in _VERBS else "other",
                    route=scope.get(routes.SCOPE_ROUTE, routes.UNKNOWN.name),
                    methods=dict(methods),
                    status=status,
                    bytes=size,
                    key=scope.get(routes.SCOPE_CALLER),
                    milliseconds=round((time.perf_counter() - started) * 1_000, 1),
                )
