"""HTTP connections under the doorman's eye: uvicorn's, with limits and good ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import uvicorn
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from dashboard.serve.reply import Reply, json_reply
from dashboard.serve.transport.bounded_http import BoundedHttp
from dashboard.serve.transport.client_prefix import household
from dashboard.serve.transport.connection_limits import Doorman, Step
from dashboard.serve.transport.last_look import LastLook
from dashboard.wire.gas_error import encode_error

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
