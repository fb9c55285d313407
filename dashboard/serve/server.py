"""The HTTP server: uvicorn, configured as the limits and the safety of keys require."""

from __future__ import annotations

import math
import resource
from dataclasses import replace
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from dashboard.logs import get_logger
from dashboard.serve.app import build_app
from dashboard.serve.dependencies import ServeDependencies
from dashboard.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from dashboard.transport.http_connection import limited_http

_OTHER_DESCRIPTORS: Final = 128
"""File descriptors that the process needs besides: the store, the nodes, the log, modules."""

_log = get_logger(__name__)


def server_config(
    dependencies: ServeDependencies, host: str, port: int, app: ASGIApp | None = None
) -> uvicorn.Config:
    """Return the configuration of `uvicorn.Server` for this app; port 0 takes a free one.

    Paths hold keys and uvicorn logs paths, so its access log is off and its level is ERROR. It
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
    """Raise the limit of file descriptors as needed; return lower limits where that fails.

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
