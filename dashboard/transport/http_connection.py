"""HTTP connections: uvicorn's, with limits on every byte and second; and replies ready to send."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, cast

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from dashboard.domain.ip_addresses import client_prefix
from dashboard.transport.connection_limits import (
    ConnectionLimiter,
    ConnectionPhase,
    ReadProgress,
    measure_read_progress,
)
from dashboard.transport.websocket_connection import (
    GUARD,
    WebSocketGuard,
    discard_refusals_from_log,
)
from dashboard.wire.gas import encode_error

PEER: Final = "linewatch.peer"
"""The key, in the state that ASGI passes to an app, of the address from which a connection comes.
That of `client` may be what a proxy said in X-Forwarded-For."""

_MOST_HEADERS: Final = 100
"""A header of two bytes is kept in a hundred, so their number is bounded beside their size."""
_LONGEST_PIPELINE: Final = 200
"""Requests sent ahead of their answers; a client that sends more of them at once is cut off."""

_CLOSE: Final = (b"connection", b"close")
_TOO_MANY: Final = (503, "Too many connections are open: try again later.")
_LARGE_HEAD: Final = (431, "The head of the request is too large.")
_TOO_SLOW: Final = (408, "The request timed out.")
_PHRASES: Final = {
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class _DiscardingList(list[tuple[bytes, bytes]]):
    """A list that stays empty: uvicorn appends trailers to the headers, without a bound."""

    def append(self, _header: tuple[bytes, bytes]) -> None:
        """Discard the header."""


_TRAILERS: Final = _DiscardingList()


class _SequentialFlow(FlowControl):
    """Reads only while no request waits and the client reads its replies."""

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


class LimitedHttpConnection(HttpToolsProtocol):
    """One HTTP connection, limited in size, number and time; it can become a WebSocket.

    At most `largest_head` bytes, and the rest of the read that exceeds them, may come without a
    byte of a body: the head, sizes and extensions of chunks, trailers, blank lines between
    requests. What was read behind a request that waits for its answer is parsed after that answer.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connection_limiter: ConnectionLimiter,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.resumed = 0
        self.read_progress = ReadProgress()
        self._connection_limiter = connection_limiter
        self._largest_head = connection_limiter.limits.largest_head
        self._bytes_beside_body = 0
        self._unparsed = b""
        self._address = ""
        self._is_upgraded = False
        self._is_refused = False
        self._needs_check = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # asyncio passes a Transport
        self.flow = _SequentialFlow(self.transport, self.pipeline)
        peer = self.client[0] if self.client else ""
        self._address = client_prefix(peer)
        self.app_state = {**self.app_state, PEER: peer}
        is_admitted = self._connection_limiter.admit(self, self._address)
        if is_admitted is None:
            self.transport.abort()
        elif not is_admitted:
            self._is_refused = self._needs_check = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Free everything at once, without waiting for the garbage collector."""
        super().connection_lost(exc)
        self.pipeline.clear()
        self._unparsed = b""
        self.headers = _TRAILERS
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None:
            cycle.on_response = _do_nothing
        self._connection_limiter.release(self, self._address)

    def data_received(self, data: bytes) -> None:
        if len(data) <= self._largest_head:
            self._parse(data)
        else:
            self._needs_check = True
            self._parse_in_pieces(data)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        cycle: RequestResponseCycle | None = self.cycle
        is_request = cycle is not None and cycle.scope is self.scope  # no WebSocket
        if is_request and len(self.headers) <= _MOST_HEADERS:
            self.headers = _TRAILERS

    def on_body(self, body: bytes) -> None:
        self._bytes_beside_body = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Go on to the next request; the connection limiter ends a connection that stays idle."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        self._read_on()

    def resume_writing(self) -> None:
        self.resumed += 1
        super().resume_writing()

    def handle_websocket_upgrade(self) -> None:
        """Leave HTTP, unless replies are pending, which would be written into the WebSocket."""
        self._is_upgraded = True
        refusal = self._refusal(self.scope) if self._needs_check else None
        if refusal is not None:
            self._reply_and_close(*refusal)
            return
        self._connection_limiter.unwatch(self)
        guard = WebSocketGuard(
            self.transport, self._address, self.config.ws_max_size, self._connection_limiter
        )
        self.app_state = {**self.app_state, GUARD: guard}
        self.transport = cast("asyncio.Transport", guard)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.transport.abort()
        else:
            super().handle_websocket_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: the request is answered as if it asked for no upgrade, as HTTP requires."""

    def _read_on(self) -> None:
        """Discard the request that was answered, and read on if none waits."""
        if self.cycle.response_complete:
            self.cycle.body.clear()
        if self._unparsed and not self.pipeline:
            unparsed, self._unparsed = self._unparsed, b""
            self._parse_in_pieces(unparsed)
        self.flow.resume_reading()

    def _parse_in_pieces(self, data: bytes) -> None:
        """Parse at most `largest_head` bytes ahead of a request that is not answered."""
        for start in range(0, len(data), self._largest_head):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
            if self.pipeline:
                self._unparsed = data[start:]
                return
            self._parse(data[start : start + self._largest_head])

    def _parse(self, piece: bytes) -> None:
        before: object = self.scope
        self._bytes_beside_body += len(piece)
        super().data_received(piece)
        if self.scope is not before:
            self._bytes_beside_body = 0  # it began in this piece, so there is no more of it
        headers: list[tuple[bytes, bytes]] | None = self.headers
        if len(self.pipeline) > _LONGEST_PIPELINE:
            self.transport.abort()
        elif self._bytes_beside_body > self._largest_head or len(headers or ()) > _MOST_HEADERS:
            self.headers.clear()
            self._reply_and_close(*_LARGE_HEAD)

    def phase(self) -> tuple[ConnectionPhase, object]:
        """Return the phase, and an object that changes with progress in it."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing():
            return ConnectionPhase.CLOSING, None
        if self.flow.write_paused:
            return ConnectionPhase.SLOW_READER, measure_read_progress(self)
        if self._is_in_head():
            return ConnectionPhase.HEAD, self.scope
        if cycle is None or cycle.response_complete:
            return (ConnectionPhase.IDLE if cycle else ConnectionPhase.HEAD), self.scope
        return (ConnectionPhase.BODY if cycle.more_body else ConnectionPhase.ANSWER), self.scope

    def drop(self, phase: ConnectionPhase) -> None:
        """End this connection, with a reply to a client that may wait for one."""
        if phase in (ConnectionPhase.SLOW_READER, ConnectionPhase.CLOSING):
            self.transport.abort()
        elif phase is ConnectionPhase.IDLE or self.scope is None:
            self.transport.close()
        else:
            self._reply_and_close(*_TOO_SLOW)

    def _is_in_head(self) -> bool:
        """Whether a request has begun whose head is not complete."""
        cycle: RequestResponseCycle | None = self.cycle
        scope: object = self.scope
        return (
            scope is not None
            and not self._is_upgraded
            and (cycle is None or cycle.scope is not scope)
        )

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # noqa: ANN401 - as uvicorn types it
        if self._needs_check and (refusal := self._refusal(cycle.scope)) is not None:
            app = _refusal_reply(*refusal)
        super()._start_asgi_task(cycle, app)

    def _refusal(self, scope: Mapping[str, Any]) -> tuple[int, str] | None:
        """Return the reply that refuses a request, if it is refused."""
        if self._is_refused:
            return _TOO_MANY
        self._needs_check = False
        size = len(scope.get("raw_path", self.url)) + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        return _LARGE_HEAD if size > self._largest_head else None

    def _reply_and_close(self, status: int, message: str) -> None:
        """Answer instead of the app, unless it has begun to, and end the connection."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        is_pending = cycle is not None and not cycle.response_complete
        if cycle is None or not is_pending or not cycle.response_started:
            self.transport.write(_raw_refusal(status, message))
        if cycle is not None and is_pending:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def _do_nothing() -> None:
    """Do nothing: the connection is closed."""


def limited_http(connection_limiter: ConnectionLimiter) -> type[asyncio.Protocol]:
    """Return what uvicorn takes as its option `http`; its WebSockets have their guard."""
    discard_refusals_from_log()
    limited = partial(LimitedHttpConnection, connection_limiter=connection_limiter)
    return cast("type[asyncio.Protocol]", limited)


def _refusal_reply(status: int, message: str) -> HttpReply:
    return json_reply(encode_error(status, message), status, [_CLOSE])


def _raw_refusal(status: int, message: str) -> bytes:
    reply = _refusal_reply(status, message)
    lines = [b"%s: %s\r\n" % header for header in reply.raw_headers]
    first = f"HTTP/1.1 {status} {_PHRASES[status]}\r\n".encode()
    return b"".join([first, *lines, b"\r\n", reply.body])


RawHeaders = list[tuple[bytes, bytes]]

_JSON: Final = (b"content-type", b"application/json")


class HttpReply:
    """Status, headers and body; an ASGI app, with the names of Starlette's `Response`."""

    __slots__ = ("body", "raw_headers", "status_code")

    def __init__(self, status: int, headers: RawHeaders, body: bytes = b"") -> None:
        """Use exactly these headers; the length of the body is one of them."""
        self.status_code = status
        self.raw_headers = headers
        self.body = body

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await send({"type": "http.response.body", "body": self.body})


def json_reply(
    body: bytes, status: int = 200, more: Iterable[tuple[bytes, bytes]] = ()
) -> HttpReply:
    """Return a reply with a body of JSON text."""
    return HttpReply(status, [_JSON, (b"content-length", b"%d" % len(body)), *more], body)
