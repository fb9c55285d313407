"""The WebSockets of the pages: what a refresh repeats is not sent again, and much goes at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.server import ServerProtocol

from dashboard.serve.transport.websocket_connection import BoundedWebSocketConnection

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent

_WINDOW_BITS: Final = 15
"""32 kB of what was sent before, which holds the refresh before; uvicorn's 4 kB hold a part of it.

Each open page costs 144 kB of memory for that.
"""
_CLIENT_WINDOW_BITS: Final = 12
_MEMORY_LEVEL: Final = 5
_EFFORT: Final = 4
"""A refresh of twelve networks takes 0.8 ms of CPU so, 1 at zlib's usual 6, for 2 % fewer bytes."""
_PIECE: Final = 1_024
"""Bytes that are unpacked at once: they hold a megabyte at most."""


class PageWebSocketConnection(BoundedWebSocketConnection):
    """A WebSocket that compresses what it sends against what it sent before.

    What comes is unpacked in small pieces, and none while a message waits for the app: one read of
    256 kB may hold 250 MB of messages.
    A page is dozens of messages, of which Streamlit hands over one in each turn of the loop.
    """

    gathers_for: ClassVar[float] = 0.002

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as uvicorn's
        super().__init__(*arguments, **named)
        compression = ServerPerMessageDeflateFactory(
            server_max_window_bits=_WINDOW_BITS,
            client_max_window_bits=_CLIENT_WINDOW_BITS,
            compress_settings={"level": _EFFORT, "memLevel": _MEMORY_LEVEL},
        )
        self.conn = ServerProtocol(
            extensions=[compression],
            max_size=self.config.ws_max_size,
            logger=logging.getLogger("uvicorn.error"),
        )
        self._packed = bytearray()

    def data_received(self, data: bytes) -> None:
        self._packed += data
        self._unpack()

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message, and unpack what follows it."""
        message = await super().receive()
        self._unpack()
        return message

    def _unpack(self) -> None:
        """Pass pieces to the parser until a message is whole."""
        while self._packed and not self.read_paused and not self.transport.is_closing():
            piece = bytes(self._packed[:_PIECE])
            del self._packed[:_PIECE]
            super().data_received(piece)
