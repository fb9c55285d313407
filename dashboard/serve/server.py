"""The server under the app: uvicorn with the settings on which the app's promises rest."""

from __future__ import annotations

import math
import resource
from dataclasses import replace
from typing import Final

from starlette.types import ASGIApp

from dashboard.logs import get_logger
from dashboard.serve.app import build_app
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.transport.connection_limits import ConnectionLimits, Doorman
from dashboard.serve.transport.http_connection import GuardedHttp, ServeConfig
from dashboard.serve.transport.websocket_connection import GuardedWebSocket

_OTHER_DESCRIPTORS: Final = 128
"""What else a process holds open: the store, the nodes, the log, modules being loaded."""

_log = get_logger(__name__)


def server_config(
    services: ServeServices, host: str, port: int, app: ASGIApp | None = None
) -> ServeConfig:
    """Return what `uvicorn.Server` needs to serve the app of `services`; port 0 takes a free one.

    uvicorn's own lines name the paths of requests and WebSockets, and those hold keys: its
    access log is off and its other lines start at ERROR. The size limit of WebSocket messages
    is also its own, so that a message over it is never held whole; compression is off, since one
    message that unpacks to a thousandfold would get past it.
    """
    doorman = Doorman(within_descriptors(services.limits.connections))
    limits = doorman.limits
    services.counters.doorman = doorman
    config = ServeConfig(
        app or build_app(services),
        host=host,
        port=port,
        http=GuardedHttp,
        ws=GuardedWebSocket,
        ws_max_size=services.limits.largest_body,
        ws_per_message_deflate=False,
        ws_ping_interval=limits.ping.total_seconds(),
        ws_ping_timeout=limits.pong.total_seconds(),
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(limits.stop.total_seconds()),
    )
    config.doorman = doorman
    config.last_look = services.last_look
    services.last_look.is_told = True  # by the connections that this configuration makes
    return config


def within_descriptors(limits: ConnectionLimits) -> ConnectionLimits:
    """Take as many file descriptors as the limits need; lower them where the system has fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.total + limits.turned_away + _OTHER_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return limits
    granted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
    if granted == needed:
        return limits
    fitting = max(1, (granted - _OTHER_DESCRIPTORS) * 10 // 11 - 16)
    _log.warning(
        "Fewer connections are taken than configured: raise the limit of file descriptors",
        configured=limits.total,
        taken=fitting,
        descriptors=granted,
        needed=needed,
    )
    return replace(limits, total=fitting)
