"""HTTP connections under the doorman's eye: uvicorn's, with limits and good ends."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from dashboard.serve.http_reply import Reply, json_reply
from dashboard.serve.transport.client_prefix import household
from dashboard.serve.transport.connection_limits import Doorman, Step
from dashboard.serve.transport.freshness import LastLook
from dashboard.wire.gas import encode_error

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


_MUCH: Final = 65_536
_CLOSE: Final = (b"connection", b"close")
_BUSY: Final = (503, "Too many connections are open: try again later.")
_LARGE_HEAD: Final = (431, "The head of the request is too large.")
_TOO_SLOW: Final = (408, "The request did not come in time.")
_PHRASES: Final = {
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class ServeConfig(uvicorn.Config):
    """uvicorn's configuration, with what the connections that it makes report to."""

    doorman: Doorman
    last_look: LastLook


@dataclass(slots=True)
class Unread:
    """Where a client stands in reading; `resumed` counts how often it took nearly all.

    `most`: the bytes that waited for it at most, since it last made progress.
    """

    resumed: int = 0
    most: int = 0


class Reader(Protocol):
    """What tells whether a client reads."""

    resumed: int
    transport: asyncio.Transport
    unread: Unread


def progress_in_reading(connection: Reader) -> Unread:
    """Return the same object as long as the client took less than 64 kB of what waits for it.

    That something is added is no progress: only a smaller rest shows what the client took.
    """
    unread, waiting = connection.unread, connection.transport.get_write_buffer_size()
    if unread.resumed != connection.resumed or waiting <= unread.most - _MUCH:
        connection.unread = Unread(connection.resumed, waiting)
    else:
        unread.most = max(unread.most, waiting)
    return connection.unread


class GuardedHttp(BoundedHttp):
    """One HTTP connection."""

    def __init__(
        self,
        config: ServeConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.resumed = 0
        self.unread = Unread()
        self._doorman = config.doorman
        self._last_look = config.last_look
        self.largest_head = config.doorman.limits.largest_head
        self._address = ""
        self._is_upgraded = False
        self._is_turned_away = False
        self._is_suspicious = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = household(self.client[0]) if self.client else ""
        is_admitted = self._doorman.enter(self, self._address)
        if is_admitted is None:
            self.transport.abort()
        elif not is_admitted:
            self._is_turned_away = self._is_suspicious = True

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._doorman.leave(self, self._address)

    def data_received(self, data: bytes) -> None:
        self._last_look.outdate()
        if len(data) > self.largest_head:
            self._is_suspicious = True
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Go on to the next request; the doorman knows for how long one may be waited for."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        self.go_on()

    def resume_writing(self) -> None:
        self.resumed += 1
        super().resume_writing()

    def handle_websocket_upgrade(self) -> None:
        self._is_upgraded = True
        refusal = self._refusal(self.scope) if self._is_suspicious else None
        if refusal is not None:
            self._say_and_close(*refusal)
            return
        self._doorman.unwatch(self)
        super().handle_websocket_upgrade()

    def refuse_head(self) -> None:
        self._say_and_close(*_LARGE_HEAD)

    def standing(self) -> tuple[Step, object]:
        """Tell the doorman where this connection stands."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing():
            return Step.CLOSING, None
        if self.flow.write_paused:
            return Step.SLOW_READER, progress_in_reading(self)
        if self._is_in_head():
            return Step.HEAD, self.scope
        if cycle is None or cycle.response_complete:
            return (Step.IDLE if cycle else Step.HEAD), self.scope
        return (Step.BODY if cycle.more_body else Step.ANSWER), self.scope

    def drop(self, step: Step) -> None:
        """End this connection, with a word to a client that might be waiting for one."""
        if step is Step.SLOW_READER or step is Step.CLOSING:
            self.transport.abort()
        elif step is Step.IDLE or self.scope is None:
            self.transport.close()
        else:
            self._say_and_close(*_TOO_SLOW)

    def _is_in_head(self) -> bool:
        """Whether a request has begun whose head is not whole."""
        cycle: RequestResponseCycle | None = self.cycle
        scope: object = self.scope
        return (
            scope is not None
            and not self._is_upgraded
            and (cycle is None or cycle.scope is not scope)
        )

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # noqa: ANN401 - as uvicorn types it
        if self._is_suspicious and (refusal := self._refusal(cycle.scope)) is not None:
            app = _refusing(*refusal)
        super()._start_asgi_task(cycle, app)

    def _refusal(self, scope: Mapping[str, Any]) -> tuple[int, str] | None:
        """Return what a request is refused with, if it is."""
        if self._is_turned_away:
            return _BUSY
        self._is_suspicious = False
        size = len(scope.get("raw_path", self.url)) + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        return _LARGE_HEAD if size > self.largest_head else None

    def _say_and_close(self, status: int, message: str) -> None:
        """Answer past the app, unless it has begun to, and end the connection."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        is_asked = cycle is not None and not cycle.response_complete
        if cycle is None or not is_asked or not cycle.response_started:
            self.transport.write(_raw(status, message))
        if cycle is not None and is_asked:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def _refusing(status: int, message: str) -> Reply:
    return json_reply(encode_error(status, message), status, [_CLOSE])


def _raw(status: int, message: str) -> bytes:
    reply = _refusing(status, message)
    lines = [b"%s: %s\r\n" % header for header in reply.raw_headers]
    first = f"HTTP/1.1 {status} {_PHRASES[status]}\r\n".encode()
    return b"".join([first, *lines, b"\r\n", reply.body])
