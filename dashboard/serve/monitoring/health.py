"""Health of serve: whether it is alive and ready, and a line for each answered request."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import anyio
from anyio import to_thread
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.domain.formatting import span
from dashboard.domain.quantity import TxHash
from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.serve import routes
from dashboard.serve.counters import Counters, called_methods
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.gas import FollowedNetwork
from dashboard.store.rejections.archive import queryable_record

_ANY_HASH: Final = TxHash(bytes(TxHash.LENGTH))
_STALLED_AFTER_BLOCKS: Final = 10
_CHECK_SECONDS: Final = 1.0
"""Seconds for which a check of the store is reused: anybody can request one."""


def live() -> Response:
    return JSONResponse({"status": "OK"})


class Readiness:
    """Whether the store can be read and written, look-ups are fast, and each node keeps up.

    A node keeps up while it answers and its newest block is young. Gas replies need only that it
    answers: a chain that mines on demand may be idle, and its fees still hold.
    """

    def __init__(self, dependencies: ServeDependencies, fees: Collection[FollowedNetwork]) -> None:
        self._dependencies = dependencies
        self._fees = fees
        self._check_lock = anyio.Lock()
        self._checked_at = -_CHECK_SECONDS
        self._known_store_problem: str | None = None

    async def answer(self) -> Response:
        """Answer 200 if ready, else 503 with every reason."""
        now, oldest = self._dependencies.clock(), self._dependencies.limits.oldest_fees
        reasons = [await self._store_problem(), self._lookup_problem()]
        reasons += [node_problem(network, now, oldest) for network in self._fees]
        reasons = [reason for reason in reasons if reason is not None]
        nodes = node_statuses(self._fees)
        if reasons:
            trouble = {"status": "UNAVAILABLE", "reasons": reasons, **nodes}
            return JSONResponse(trouble, status_code=503)
        return JSONResponse({"status": "OK", **nodes})

    async def store_is_up(self) -> bool:
        return await self._store_problem() is None

    async def _store_problem(self) -> str | None:
        async with self._check_lock:
            if anyio.current_time() - self._checked_at >= _CHECK_SECONDS:
                self._known_store_problem = await to_thread.run_sync(self._check_store)
                self._checked_at = anyio.current_time()
            return self._known_store_problem

    def _lookup_problem(self) -> str | None:
        """Report that look-ups are still slow, though correct: for some seconds after the start."""
        is_loaded = self._dependencies.known.is_loaded
        return None if is_loaded else "The hashes on record are being read: look-ups are slow."

    def _check_store(self) -> str | None:
        """Read as a look-up does, check writing; return what fails."""
        store, verb = self._dependencies.store, "read"
        try:
            with store.read() as connection:
                queryable_record(connection, (), _ANY_HASH, self._dependencies.clock())
            verb = "written"
            store.check_writing()
        except StoreError as error:
            return f"The store cannot be {verb}: {error}".replace(store.name, "it")
        return None


def node_statuses(fees: Collection[FollowedNetwork]) -> dict[str, object]:
    """Return the state of each node, for networks that have several nodes."""
    nodes = {
        network.name: [
            {"node": each.name, "state": each.state, "why": each.why}
            for each in network.follower.node_statuses
        ]
        for network in fees
        if len(network.follower.node_statuses) > 1
    }
    return {"nodes": nodes} if nodes else {}


def node_problem(network: FollowedNetwork, now: datetime, oldest: timedelta) -> str | None:
    """Return what is wrong with a followed node, None if nothing is.

    A node is stalled if it answers but its newest block is older than `oldest` and than ten block
    times: it lost its peers, or nothing is mined.
    """
    replies = network.replies
    if network.loading is not None:
        return network.loading
    if replies is None:
        return f"The node of {network.name} has not answered yet."
    silence = now - replies.read_at
    if silence > oldest:
        return f"The node of {network.name} last answered {span(silence)} ago."
    head = replies.fees.head
    age = now - head.timestamp
    if age > max(oldest, _STALLED_AFTER_BLOCKS * replies.block_time):
        seconds = f"{age.total_seconds():.0f} s"
        return f"The node of {network.name} is stalled: block {head.number} is {seconds} old."
    return None


_PROBES: Final = frozenset(route.name for route in routes.PROBES)
_VERBS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_log = get_logger(__name__)


class AccessLog:
    """Middleware that logs the route and the caller that the app has put into the scope.

    Paths and headers are never logged: a key may be in either, even in an unexpected place. Only
    methods and verbs that are served are named.
    """

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
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
