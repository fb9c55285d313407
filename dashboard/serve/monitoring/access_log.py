"""One line in the log for each answered request: what was asked and who asked, never a key."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve import routes
from dashboard.serve.counters import Counters, asked_methods

_PROBES: Final = frozenset(route.name for route in routes.PROBES)
_VERBS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_log = get_logger(__name__)


class AccessLog:
    """Middleware that logs by the names that the app leaves in the scope.

    Neither the path nor a header is ever logged: a key may stand in either, perhaps in an
    unexpected place. Of methods and verbs only those are named that are served.
    """

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        """Log the requests of `app`, which counts the methods that it runs in `counters`."""
        self._app = app
        counters.is_noting = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        asked: Counter[str] = Counter()
        noting = asked_methods.set(asked)
        status, size = 0, 0

        async def send_noting(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = int(message["status"])
            elif scope["method"] != "HEAD":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        finally:
            asked_methods.reset(noting)
            if scope.get(routes.SCOPE_ROUTE) not in _PROBES:
                verb = scope["method"]
                _log.info(
                    "Request answered",
                    verb=verb if verb in _VERBS else "other",
                    route=scope.get(routes.SCOPE_ROUTE, routes.NOWHERE.name),
                    methods=dict(asked),
                    status=status,
                    bytes=size,
                    key=scope.get(routes.SCOPE_CALLER),
                    milliseconds=round((time.perf_counter() - started) * 1_000, 1),
                )
