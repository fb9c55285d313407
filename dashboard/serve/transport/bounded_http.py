"""HTTP connections that keep little of what a stranger sends, and send to one that reads."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_LARGEST_HEAD: Final = 65_536
_MOST_HEADERS: Final = 100
"""A header of two bytes is kept in a hundred, so their number is bounded beside their size."""
_LONGEST_PIPELINE: Final = 200
"""Requests sent ahead of their answers; a client that sends more of them at once is cut off."""


class _Dropped(list[tuple[bytes, bytes]]):
    """Headers that nobody will read: uvicorn adds trailers to the head, without a bound."""

    def append(self, _header: tuple[bytes, bytes]) -> None:
        """Keep nothing."""


_TRAILERS: Final = _Dropped()


class _InTurn(FlowControl):
    """Reads on only when no request waits and the client takes its replies."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object]) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not (self._waiting or self.write_paused):
            super().resume_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.resume_reading()


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's connection, with a bound on every byte of a request but those of its body.

    At most `largest_head` bytes and what one read brought beyond them may come without a byte of
    a body: the head, sizes and extensions of chunks, trailers, blank lines between requests. What
    was read behind a request that waits for its answer is parsed after that answer.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as uvicorn's
        super().__init__(*arguments, **named)
        self.largest_head = _LARGEST_HEAD
        self._beside_body = 0
        self._unparsed = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # asyncio hands in a Transport
        self.flow = _InTurn(self.transport, self.pipeline)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of all that was kept, without waiting for the collector of cycles."""
        super().connection_lost(exc)
        self.pipeline.clear()
        self._unparsed = b""
        self.headers = _TRAILERS
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None:
            cycle.on_response = _nothing

    def data_received(self, data: bytes) -> None:
        if len(data) <= self.largest_head:
            self._parse(data)
        else:
            self._parse_in_pieces(data)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        cycle: RequestResponseCycle | None = self.cycle
        is_asked = cycle is not None and cycle.scope is self.scope  # no WebSocket
        if is_asked and len(self.headers) <= _MOST_HEADERS:
            self.headers = _TRAILERS

    def on_body(self, body: bytes) -> None:
        self._beside_body = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self.go_on()

    def handle_websocket_upgrade(self) -> None:
        """Leave HTTP, unless replies are pending, which would be written into the WebSocket."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.transport.abort()
        else:
            super().handle_websocket_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: the request is answered as if it asked for no upgrade, as HTTP wants it."""

    def go_on(self) -> None:
        """Forget the request that was answered, and read on where none waits."""
        if self.cycle.response_complete:
            self.cycle.body.clear()
        if self._unparsed and not self.pipeline:
            unparsed, self._unparsed = self._unparsed, b""
            self._parse_in_pieces(unparsed)
        self.flow.resume_reading()

    def refuse_head(self) -> None:
        """End the connection: what it sends beside a body is too much."""
        self.transport.close()

    def _parse_in_pieces(self, data: bytes) -> None:
        """Parse at most `largest_head` bytes ahead of a request that is not answered."""
        for start in range(0, len(data), self.largest_head):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
            if self.pipeline:
                self._unparsed = data[start:]
                return
            self._parse(data[start : start + self.largest_head])

    def _parse(self, piece: bytes) -> None:
        before: object = self.scope
        self._beside_body += len(piece)
        super().data_received(piece)
        if self.scope is not before:
            self._beside_body = 0  # it began in this piece, so there is no more of it
        headers: list[tuple[bytes, bytes]] | None = self.headers
        if len(self.pipeline) > _LONGEST_PIPELINE:
            self.transport.abort()
        elif self._beside_body > self.largest_head or len(headers or ()) > _MOST_HEADERS:
            self.headers.clear()
            self.refuse_head()


def _nothing() -> None:
    """Do nothing: the connection is gone."""
