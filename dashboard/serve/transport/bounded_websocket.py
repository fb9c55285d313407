"""WebSockets that keep little of what a stranger sends, and read from one that reads."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

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
