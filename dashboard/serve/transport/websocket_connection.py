"""WebSockets under the doorman's eye: uvicorn's, with messages read and written many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame
from websockets.protocol import OPEN

from dashboard.serve.transport.client_prefix import household
from dashboard.serve.transport.connection_limits import Step
from dashboard.serve.transport.frames import BURSTS, end_of_frame, take_texts, text_frames
from dashboard.serve.transport.http_connection import ServeConfig, Unread, progress_in_reading
from dashboard.serve.transport.write_coalescing import Cork


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, which reads on only while its client takes what it is sent.

    A message in fragments takes no more memory than one that comes whole: uvicorn keeps each
    fragment, and one of a byte is kept in a hundred.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as uvicorn's
        super().__init__(*arguments, **named)
        self._fragments = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._cork = Cork(cast("asyncio.Transport", transport))
        super().connection_made(cast("asyncio.Transport", self._cork))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cork.fill()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cork.drain()

    async def send(self, message: Any) -> None:  # noqa: ANN401 - as uvicorn types it
        """Send; a refusal in words ends the handshake, which uvicorn would log as an error."""
        await super().send(message)
        if self.close_sent:
            self.handshake_complete = True

    def handle_cont(self, event: Frame) -> None:
        """Join the fragments behind the first one as they come."""
        self._fragments += event.data
        if event.fin:
            self.frames.append(bytes(self._fragments))
            self._fragments.clear()
            self.send_receive_event_to_app()


_SERVICE_RESTART: Final = 1012
_LARGEST_BURST: Final = 256
"""Messages of one read that are handed on, and answered, together."""
_CLOSE_HANDSHAKE: Final = 1.0
"""Seconds for which a client that is sent away may take its leave."""


class GuardedWebSocket(BoundedWebSocket):
    """One WebSocket, which began as an HTTP connection and still counts as that one.

    Whole text messages are taken past websockets' parser and written past its frames, which
    would take most of the time; the parser gets all other frames, and nothing but whole ones
    in between. `_head` is the beginning of a frame whose length is not known yet, `_owed` how
    many bytes of the parser's present frame are still to come.
    """

    def __init__(
        self, config: ServeConfig, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.resumed = 0
        self.unread = Unread()
        self._doorman = config.doorman
        self._last_look = config.last_look
        self._address = ""
        self._is_leaving = False
        self._largest_message = config.ws_max_size
        self._head = b""
        self._owed = 0
        self._converse: ASGIApp = config.loaded_app
        self.app = self._converse_to_the_end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = household(self.client[0]) if self.client else ""
        self._doorman.watch(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._doorman.leave(self, self._address)

    def data_received(self, data: bytes) -> None:
        self._last_look.outdate()
        if not self.handshake_initiated:  # uvicorn hands in the request, whole
            super().data_received(data)
            return
        read, self._head = self._head + data, b""
        start = 0
        while start < len(read) and not self.transport.is_closing():
            if not self._owed:
                if self._is_between_messages():
                    texts, start = take_texts(read, start, self._largest_message)
                    self._hand_on(texts)
                end = end_of_frame(read, start)
                if end is None:
                    self._head = read[start:]
                    return
                self._owed = end - start
            piece = read[start : start + self._owed]
            start += len(piece)
            self._owed -= len(piece)
            super().data_received(piece)

    def resume_writing(self) -> None:
        self.resumed += 1
        super().resume_writing()

    def send(self, message: Any) -> Coroutine[Any, Any, None]:  # noqa: ANN401 - as uvicorn types it
        """Send; to take leave, do not wait for a client that reads nothing."""
        if "texts" in message:
            return self._send_texts(message["texts"])
        if message["type"] == "websocket.close":
            self.writable.set()
        return super().send(message)

    def shutdown(self) -> None:
        """Take no more messages; the app hears of it after those that came before."""
        if not self.handshake_complete or self.close_sent:
            super().shutdown()
            return
        self.stop_keepalive()
        self._is_leaving = True
        self.transport.pause_reading()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _SERVICE_RESTART})

    def standing(self) -> tuple[Step, object]:
        """Tell the doorman where this connection stands."""
        if self.transport.is_closing():
            return Step.CLOSING, None
        if not self.writable.is_set():
            return Step.SLOW_READER, progress_in_reading(self)
        if not self.handshake_complete:
            return Step.HEAD, None
        if self.frames or self._owed or self._head:
            return Step.BODY, self.frames
        return Step.OPEN, None

    def drop(self, _step: Step) -> None:
        """End this connection: whoever does not keep up would not hear a reason either."""
        self.transport.abort()

    def _is_between_messages(self) -> bool:
        """Whether a text may come next; after a fragment it is a mistake, for the parser to see."""
        return self.conn.state is OPEN and self.conn.current_size is None and not self.close_sent

    def _hand_on(self, texts: list[bytes]) -> None:
        """Queue messages for the app, and read no more until it has taken them; as uvicorn does."""
        if not texts:
            return
        self.frames = []  # another list: the doorman sees by it that a message was ended
        for first in range(0, len(texts), _LARGEST_BURST):
            burst = texts[first : first + _LARGEST_BURST]
            event: Any = {"type": "websocket.receive", "texts": burst}
            self.queue.put_nowait(event)
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    async def _send_texts(self, texts: list[bytes]) -> None:
        """Send messages, past websockets, which keeps no account of what it sends."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.conn.state is not OPEN:
            raise ClientDisconnected
        self.transport.write(text_frames(texts))

    async def _converse_to_the_end(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Converse, and where the server stops, take leave when all has been answered."""
        scope["extensions"][BURSTS] = {}
        await self._converse(scope, receive, send)
        if self._is_leaving and not self.disconnected and not self.close_sent:
            self.close_timeout = _CLOSE_HANDSHAKE
            self.transport.resume_reading()
            reason = "the server stops"
            await send({"type": "websocket.close", "code": _SERVICE_RESTART, "reason": reason})
