"""The WebSockets of the pages: what a refresh repeats is not sent again, and much goes at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.server import ServerProtocol

from dashboard.show.streamlit_runtime import is_open_session
from dashboard.transport.connection_limits import ConnectionPhase
from dashboard.transport.frames import FrameProgress
from dashboard.transport.websocket_connection import TimedWebSocketConnection

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

_PROTOCOLS_WITH_SESSION: Final = 3
"""What Streamlit's script offers as subprotocols: a name, a token, and the session it had."""


class PageWebSocketConnection(TimedWebSocketConnection):
    """A WebSocket that compresses what it sends against what it sent before.

    What comes is unpacked in small pieces, and none while a message waits for the app: one read of
    256 kB may hold 250 MB of messages.
    A page is dozens of messages, of which Streamlit hands over one in each turn of the loop.

    A client that says nothing is dropped: it takes four file descriptors. A browser asks for its
    page at once, unless it comes back to a session that it had.
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
        self._frame = FrameProgress()
        self._has_spoken = False
        self._taken = 0

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._packed.clear()

    def data_received(self, data: bytes) -> None:
        self._packed += data
        self._unpack()

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message, and unpack what follows it."""
        message = await super().receive()
        if message["type"] == "websocket.receive":
            self._has_spoken = True
            self._taken = len(message.get("bytes") or message.get("text") or "")
            self._note_held()
        self._unpack()
        return message

    def phase(self) -> tuple[ConnectionPhase, object]:
        """Return the phase, and an object that changes with progress in it."""
        phase, progress = super().phase()
        if phase is ConnectionPhase.OPEN and not (self._has_spoken or self._came_back()):
            return ConnectionPhase.BODY, None
        return phase, progress

    def is_message_unfinished(self) -> bool:
        """Whether a message has begun that is not whole."""
        return bool(self.frames) or self._frame.is_unfinished

    def _came_back(self) -> bool:
        """Whether it named a session that it had, and is in it again."""
        offered = list(self.scope["subprotocols"])
        return len(offered) == _PROTOCOLS_WITH_SESSION and is_open_session(offered[-1])

    def _unpack(self) -> None:
        """Pass pieces to the parser until a message is whole."""
        while self._packed and not self.read_paused and not self.transport.is_closing():
            piece = bytes(self._packed[:_PIECE])
            del self._packed[:_PIECE]
            if self.handshake_initiated:  # before, it is the request
                self._frame.feed(piece)
            super().data_received(piece)
            self._note_held()

    def _note_held(self) -> None:
        """Note what the unfinished message takes, and the last one: Streamlit keeps it."""
        held = sum(len(each) for each in self.frames) + len(self._fragments) + self._frame.read
        self._connection_limiter.note_unfinished(self, held + self._taken)
