"""WebSocket connections: uvicorn's, with limits, and messages read and written many at once."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine
from typing import Any, ClassVar, Final, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame
from websockets.protocol import OPEN

from dashboard.transport.connection_limits import ConnectionPhase, client_prefix
from dashboard.transport.frames import MESSAGE_BATCHES, end_of_frame, read_texts, text_frames
from dashboard.transport.http_connection import ReadProgress, ServeConfig, measure_read_progress
from dashboard.transport.write_coalescing import CoalescingTransport

_SERVICE_RESTART: Final = 1012
_LARGEST_BATCH: Final = 256
"""Messages of one read that are passed to the app, and answered, together."""
_CLOSE_HANDSHAKE: Final = 1.0
"""Seconds for the client to answer the close frame of a server that stops."""


class BoundedWebSocketConnection(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, which reads only while its client reads what it is sent.

    A message in fragments takes no more memory than one that comes whole: uvicorn keeps each
    fragment, and one of a byte is kept in a hundred.
    """

    gathers_for: ClassVar[float] = 0
    """Seconds for which small writes are gathered; 0: for one turn of the event loop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as uvicorn's
        super().__init__(*arguments, **named)
        self._fragments = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._coalescing = CoalescingTransport(
            cast("asyncio.Transport", transport), self.gathers_for
        )
        super().connection_made(cast("asyncio.Transport", self._coalescing))

    def connection_lost(self, exc: Exception | None) -> None:
        """Free an unfinished message at once: the garbage collector counts objects, not bytes."""
        super().connection_lost(exc)
        self.frames = []
        self._fragments.clear()
        self.conn.receive_eof()  # websockets discards the frame that it has begun to read

    def pause_writing(self) -> None:
        super().pause_writing()
        self._coalescing.pause_for_client()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._coalescing.resume_for_client()

    async def send(self, message: Any) -> None:  # noqa: ANN401 - as uvicorn types it
        """Send; a refusal with a body ends the handshake, which uvicorn would log as an error."""
        await super().send(message)
        if self.close_sent:
            self.handshake_complete = True

    def handle_text(self, event: Frame) -> None:
        super().handle_text(event)
        event.data = b""  # websockets keeps a frame until it has read the next one

    def handle_bytes(self, event: Frame) -> None:
        super().handle_bytes(event)
        event.data = b""

    def handle_cont(self, event: Frame) -> None:
        """Join the fragments behind the first one as they come."""
        self._fragments += event.data
        event.data = b""
        if event.fin:
            self.frames.append(bytes(self._fragments))
            self._fragments.clear()
            self.send_receive_event_to_app()


class TimedWebSocketConnection(BoundedWebSocketConnection):
    """One WebSocket within the limits; it began as an HTTP connection and still counts as that one.

    A subclass knows whether a message is unfinished.
    """

    def __init__(
        self, config: ServeConfig, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.resumed = 0
        self.read_progress = ReadProgress()
        self._connection_limiter = config.connection_limiter
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = client_prefix(self.client[0]) if self.client else ""
        self._connection_limiter.watch(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connection_limiter.release(self, self._address)

    def resume_writing(self) -> None:
        self.resumed += 1
        super().resume_writing()

    def phase(self) -> tuple[ConnectionPhase, object]:
        """Return the phase, and an object that changes with progress in it."""
        if self.transport.is_closing():
            return ConnectionPhase.CLOSING, None
        if not self.writable.is_set():
            return ConnectionPhase.SLOW_READER, measure_read_progress(self)
        if not self.handshake_complete:
            return ConnectionPhase.HEAD, None
        if self.is_message_unfinished():
            return ConnectionPhase.BODY, self.frames
        return ConnectionPhase.OPEN, None

    def drop(self, _phase: ConnectionPhase) -> None:
        """End this connection: a client that does not keep up would not read a reason either."""
        self.transport.abort()

    @abstractmethod
    def is_message_unfinished(self) -> bool:
        """Whether a message has begun that is not whole."""


class LimitedWebSocketConnection(TimedWebSocketConnection):
    """A WebSocket of serve, within the limits.

    Whole text messages are taken past websockets' parser and written past its frames, which
    would take most of the time; the parser gets all other frames, and nothing but whole ones
    in between. `_partial_header` is the beginning of a frame whose length is not known yet;
    `_parser_bytes_left`: how many bytes of the parser's present frame are still to come.
    """

    def __init__(
        self, config: ServeConfig, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._store_freshness = config.store_freshness
        self._is_shutting_down = False
        self._largest_message = config.ws_max_size
        self._partial_header = b""
        self._parser_bytes_left = 0
        self._app: ASGIApp = config.loaded_app
        self.app = self._run_app

    def data_received(self, data: bytes) -> None:
        self._store_freshness.expire()
        if not self.handshake_initiated:  # uvicorn passes the complete request
            super().data_received(data)
            return
        read, self._partial_header = self._partial_header + data, b""
        start = 0
        while start < len(read) and not self.transport.is_closing():
            if not self._parser_bytes_left:
                if self._is_between_messages():
                    texts, start = read_texts(read, start, self._largest_message)
                    self._queue_texts(texts)
                end = end_of_frame(read, start)
                if end is None:
                    self._partial_header = read[start:]
                    return
                self._parser_bytes_left = end - start
            piece = read[start : start + self._parser_bytes_left]
            start += len(piece)
            self._parser_bytes_left -= len(piece)
            super().data_received(piece)

    def send(self, message: Any) -> Coroutine[Any, Any, None]:  # noqa: ANN401 - as uvicorn types it
        """Send; a close frame does not wait for a client that reads nothing."""
        if "texts" in message:
            return self._send_texts(message["texts"])
        if message["type"] == "websocket.close":
            self.writable.set()
        return super().send(message)

    def shutdown(self) -> None:
        """Take no more messages; the app is told after those that came before."""
        if not self.handshake_complete or self.close_sent:
            super().shutdown()
            return
        self.stop_keepalive()
        self._is_shutting_down = True
        self.transport.pause_reading()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _SERVICE_RESTART})

    def is_message_unfinished(self) -> bool:
        """Whether a message has begun that is not whole."""
        return bool(self.frames or self._parser_bytes_left or self._partial_header)

    def _is_between_messages(self) -> bool:
        """Whether a text may come next; after a fragment it is a mistake, for the parser to see."""
        return self.conn.state is OPEN and self.conn.current_size is None and not self.close_sent

    def _queue_texts(self, texts: list[bytes]) -> None:
        """Queue messages for the app, and read no more until it has taken them; as uvicorn does."""
        if not texts:
            return
        self.frames = []  # another list: `phase` shows by it that a message has ended
        for first in range(0, len(texts), _LARGEST_BATCH):
            burst = texts[first : first + _LARGEST_BATCH]
            event: Any = {"type": "websocket.receive", "texts": burst}
            self.queue.put_nowait(event)
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    async def _send_texts(self, texts: list[bytes]) -> None:
        """Send messages past the websockets library, which keeps no state about what it sends."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.conn.state is not OPEN:
            raise ClientDisconnected
        self.transport.write(text_frames(texts))

    async def _run_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app, and where the server stops, close when all has been answered."""
        scope["extensions"][MESSAGE_BATCHES] = {}
        await self._app(scope, receive, send)
        if self._is_shutting_down and not self.disconnected and not self.close_sent:
            self.close_timeout = _CLOSE_HANDSHAKE
            self.transport.resume_reading()
            reason = "the server stops"
            await send({"type": "websocket.close", "code": _SERVICE_RESTART, "reason": reason})
