"""The HTTP server: both APIs as one app, and uvicorn as limits and the safety of keys require."""

from __future__ import annotations

import math
import resource
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
import uvicorn
from msgspec.structs import replace
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router as StarletteRouter
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.documents.openapi import openapi, try_it_page
from dashboard.serve.gas import FollowedNetwork, GasApi
from dashboard.serve.monitoring.health import AccessLog, Readiness
from dashboard.serve.monitoring.metrics_page import MetricsPage
from dashboard.serve.router import Router
from dashboard.serve.rpc.exclusion_status import load_known_hashes
from dashboard.serve.rpc.methods import document_of
from dashboard.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from dashboard.transport.http_connection import HttpReply, json_reply, limited_http

_CORS_HEADERS = ("Authorization", "X-Client-Id", "Content-Type", "Accept")


def build_app(dependencies: ServeDependencies) -> ASGIApp:
    """Return the app; a server has to run its lifespan, which follows the nodes."""
    fees = {
        network.network_id: FollowedNetwork(
            network.name, network.follower, dependencies.limits.refresh_period
        )
        for network in dependencies.networks
        if network.follower is not None
    }
    gas = GasApi(fees, dependencies.clock, dependencies.limits.oldest_fees)
    dependencies.counters.known_hashes = lambda: len(dependencies.known)
    dependencies.counters.call_counts = dependencies.key_limiter.call_counts
    metrics = MetricsPage(dependencies, fees.values())
    readiness = Readiness(dependencies, fees.values())
    router = Router(dependencies, gas, readiness, metrics, _documents(dependencies))
    return _App(dependencies, router, fees.values())


class _App:
    """Runs middleware only for requests that need it: every layer costs time."""

    def __init__(
        self, dependencies: ServeDependencies, router: Router, fees: Collection[FollowedNetwork]
    ) -> None:
        self._handle_websocket = router.handle_websocket
        self._app = (
            AccessLog(router, dependencies.counters) if dependencies.log_requests else router
        )
        self._app_with_cors = CORSMiddleware(
            self._app,
            allow_origins=dependencies.cors_origins,
            allow_methods=("GET", "HEAD", "POST", "OPTIONS"),
            allow_headers=_CORS_HEADERS,
            expose_headers=("Retry-After",),
        )
        self._lifespan = StarletteRouter(lifespan=lambda _: _background_tasks(dependencies, fees))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            for name, _ in scope["headers"]:
                if name == b"origin":
                    await self._app_with_cors(scope, receive, send)
                    return
            await self._app(scope, receive, send)
        elif kind == "websocket":
            await self._handle_websocket(scope, receive, send)
        else:
            await self._lifespan(scope, receive, send)


def _documents(dependencies: ServeDependencies) -> Mapping[str, HttpReply]:
    followed = [each.network_id for each in dependencies.networks if each.follower is not None]
    page = try_it_page() if dependencies.has_page else {}
    return {
        "/openrpc.json": json_reply(document_of(dependencies)),
        "/openapi.json": json_reply(openapi(followed)),
        **page,
    }


@asynccontextmanager
async def _background_tasks(
    dependencies: ServeDependencies, networks: Iterable[FollowedNetwork]
) -> AsyncIterator[None]:
    """Load the known hashes, follow nodes, synchronize keys and push to subscribers."""
    key_sync = dependencies.key_sync
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(load_known_hashes, dependencies)
        for network in networks:
            tasks.start_soon(network.follow)
        tasks.start_soon(dependencies.feed.run)
        if key_sync is not None:
            tasks.start_soon(key_sync.run)
        yield
        tasks.cancel_scope.cancel()
    if key_sync is not None:
        await key_sync.write_counts()  # or the uses since the last time were lost
    dependencies.rejections.close()


_OTHER_DESCRIPTORS: Final = 128
"""File descriptors that the process needs besides: the store, the nodes, the log, modules."""

_log = get_logger(__name__)


def server_config(
    dependencies: ServeDependencies, host: str, port: int, app: ASGIApp | None = None
) -> uvicorn.Config:
    """Return the configuration of `uvicorn.Server` for this app; port 0 picks a free one.

    Paths contain keys and uvicorn logs paths, so its access log is off and its level is ERROR. It
    limits the size of WebSocket messages itself, so that a larger one is never held whole;
    compression is off, since a message that unpacks to a thousandfold would evade that limit.
    """
    connection_limiter = ConnectionLimiter(within_descriptors(dependencies.limits.connections))
    limits = connection_limiter.limits
    dependencies.counters.connection_limiter = connection_limiter
    return uvicorn.Config(
        app or build_app(dependencies),
        host=host,
        port=port,
        http=limited_http(connection_limiter),
        ws="websockets-sansio",
        ws_max_size=dependencies.limits.largest_body,
        ws_per_message_deflate=False,
        ws_ping_interval=limits.ping_period.total_seconds(),
        ws_ping_timeout=limits.ping_timeout.total_seconds(),
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(limits.stop_timeout.total_seconds()),
    )


def within_descriptors(limits: ConnectionLimits, each: int = 1) -> ConnectionLimits:
    """Raise the limit of file descriptors as needed; return lower limits if that fails.

    `each` is how many a connection takes.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = each * (limits.largest_connections + limits.refusable) + _OTHER_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return limits
    granted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
    if granted == needed:
        return limits
    fitting = max(1, (granted - _OTHER_DESCRIPTORS) // each * 10 // 11 - 16)
    _log.warning(
        "Fewer connections are accepted than configured: raise the limit of file descriptors",
        configured=limits.largest_connections,
        accepted=fitting,
        descriptors=granted,
        needed=needed,
    )
    return replace(limits, largest_connections=fitting)
