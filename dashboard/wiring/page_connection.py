"""The WebSockets of the pages: what a refresh repeats is not sent again."""

from __future__ import annotations

import logging
from typing import Any, Final

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.server import ServerProtocol

from dashboard.serve.transport.websocket_connection import BoundedWebSocketConnection

_WINDOW_BITS: Final = 15
"""32 kB of what was sent before, which holds the refresh before; uvicorn's 4 kB hold a part of it.

Each open page costs 144 kB of memory for that.
"""
_CLIENT_WINDOW_BITS: Final = 12
_MEMORY_LEVEL: Final = 5


class PageWebSocketConnection(BoundedWebSocketConnection):
    """A WebSocket that compresses what it sends against what it sent before."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as uvicorn's
        super().__init__(*arguments, **named)
        compression = ServerPerMessageDeflateFactory(
            server_max_window_bits=_WINDOW_BITS,
            client_max_window_bits=_CLIENT_WINDOW_BITS,
            compress_settings={"memLevel": _MEMORY_LEVEL},
        )
        self.conn = ServerProtocol(
            extensions=[compression],
            max_size=self.config.ws_max_size,
            logger=logging.getLogger("uvicorn.error"),
        )
