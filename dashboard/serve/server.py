"""The server under the app: uvicorn with the settings on which the app's promises rest."""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

from dashboard.serve.services import Limits

_SECONDS_TO_FINISH = 5


def server_config(app: ASGIApp, host: str, port: int, limits: Limits) -> uvicorn.Config:
    """Return what `uvicorn.Server` needs; port 0 takes a free one.

    uvicorn's own lines name the paths of requests and WebSockets, and those hold keys: its
    access log is off and its other lines start at WARNING. The size limit of WebSocket messages
    is also its own, so that a message over it is never held whole.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=limits.largest_body,
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
