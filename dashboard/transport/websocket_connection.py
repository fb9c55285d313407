"""WebSocket connections: a guard bounds their bytes and seconds.

The guard stands between a connection and the server's protocol, and uses of either only what
asyncio documents: a protocol receives what was read, and writes to a transport. An app finds the
guard of its connection in the state that ASGI passes to it, as `GUARD`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, NamedTuple, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.transport.connection_limits import (
    ConnectionLimiter,
    ConnectionPhase,
    ReadProgress,
    measure_read_progress,
)

GUARD: Final = "linewatch.websocket"

_LARGEST_WRITE: Final = 65_536
_READ_AHEAD: Final = 65_536
"""How many bytes are read while the app has not taken the message before."""
_MOST_FRAGMENTS: Final = 4_096
"""How many fragments a message may have: uvicorn keeps each, and a hundred bytes for one of a byte.
"""
_PROTOCOLS_WITH_SESSION: Final = 3
"""What Streamlit's script offers as subprotocols: a name, a token, and the session it had."""
_LARGEST_HEAD: Final = 14
"""Bytes of a frame before its content."""

_PONG: Final = b"\x8a\x80" + bytes(4)
"""A frame that nobody asked for and all ignore: websockets keeps the one before it until then."""

_FINAL: Final = 0x80
_CONTROL: Final = 0x08
_MASKED: Final = 0x80
_LENGTH: Final = 0x7F
_TWO_BYTES: Final = 126
"""In place of a length: two bytes of it follow."""


class _Frame(NamedTuple):
    """Where a frame ends, and whether it is the last one of its message, or a control frame."""

    end: int
    is_last: bool
    is_control: bool


def frame_at(read: bytes | bytearray, start: int) -> _Frame | None:
    """Read the head of the frame that begins at `start`; None while that is incomplete."""
    if len(read) - start < 2:  # noqa: PLR2004 - the bytes that say how long the head is
        return None
    first, second = read[start], read[start + 1]
    length = second & _LENGTH
    begin = start + 2
    if length >= _TWO_BYTES:
        begin += 2 if length == _TWO_BYTES else 8
        if len(read) < begin:
            return None
        length = int.from_bytes(read[start + 2 : begin])
    end = begin + length + (4 if second & _MASKED else 0)
    return _Frame(end, bool(first & _FINAL), bool(first & _CONTROL))


class WebSocketGuard(asyncio.Protocol):
    """Passes the server whole messages, one after the other, as the app takes them.

    So unfinished messages are here alone, as they came: counted, unpacked by nobody, and freed with
    their connection. Control frames are passed on between the fragments of a message. The
    connection began as an HTTP one and still counts as that. For the server's protocol the guard is
    the transport, and sends small writes of one turn of the event loop together. `has_spoken`:
    False for a client that has to say something, and is dropped if it does not.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        address: str,
        largest_message: int,
        connection_limiter: ConnectionLimiter,
    ) -> None:
        self.transport = transport
        self.has_spoken = True
        self.resumed = 0
        self.read_progress = ReadProgress()
        self._address = address
        self._largest_message = largest_message
        self._connection_limiter = connection_limiter
        self._inner: asyncio.Protocol
        self._is_app_busy = False
        self._is_client_slow = False
        self._is_ending = False
        self._unread = bytearray()
        self._scanned = 0
        self._fragments = 0
        self._taken = 0
        self._handed_on: object = None
        self._writes: list[bytes] = []
        self._size_of_writes = 0

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Stand between the connection and the protocol that it changes to."""
        self._inner = cast("asyncio.Protocol", protocol)
        self._connection_limiter.watch(self)
        self.transport.set_protocol(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free an unfinished message at once: the garbage collector counts objects, not bytes."""
        self._unread.clear()
        self._inner.connection_lost(exc)
        self._connection_limiter.release(self, self._address)

    def eof_received(self) -> None:
        """Let the protocol end the connection."""
        self._inner.eof_received()

    def data_received(self, data: bytes) -> None:
        """Pass on what is complete."""
        self._unread += data
        self._hand_on()
        self._note_held()

    def pause_writing(self) -> None:
        """Stop reading while the client does not read: answers to pings wait for nothing."""
        self._inner.pause_writing()
        self._is_client_slow = True
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Continue reading."""
        self.resumed += 1
        self._inner.resume_writing()
        self._is_client_slow = False
        self._read_on()

    def pause_reading(self) -> None:
        """Pass nothing on, as the app has not taken what came before; read ahead up to a limit."""
        self._is_app_busy = True

    def resume_reading(self) -> None:
        """Pass on what came meanwhile."""
        self._is_app_busy = False
        self._read_on()

    def write(self, data: bytes) -> None:
        """Buffer some bytes until the end of this turn."""
        if not self._writes:
            asyncio.get_running_loop().call_soon(self._flush)
        self._writes.append(data)
        self._size_of_writes += len(data)
        if self._size_of_writes > _LARGEST_WRITE:
            self._flush()

    def write_at_once(self) -> None:
        """Write a last message even if the client reads nothing of what waits for it.

        The client has the time of a closing connection to read it.
        """
        self._is_ending = True
        self._inner.resume_writing()

    def close(self) -> None:
        """Close after everything was sent."""
        self._flush()
        self.transport.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self.transport, name)

    def note_taken(self, size: int) -> None:
        """Record how many bytes the app took, which it may keep until the next message."""
        self.has_spoken = True
        self._taken = size
        self._note_held()

    def phase(self) -> tuple[ConnectionPhase, object]:
        """Return the phase, and an object that changes with progress in it."""
        if self.transport.is_closing():
            return ConnectionPhase.CLOSING, None
        if self._is_ending:
            return ConnectionPhase.CLOSING, measure_read_progress(self)
        if self._is_client_slow:
            return ConnectionPhase.SLOW_READER, measure_read_progress(self)
        is_unfinished = self._unread and not self._is_app_busy
        if is_unfinished or not self.has_spoken:
            return ConnectionPhase.BODY, self._handed_on
        return ConnectionPhase.OPEN, None

    def drop(self, _phase: ConnectionPhase) -> None:
        """End this connection: a client that does not keep up would not read a reason either."""
        self.transport.abort()

    def _read_on(self) -> None:
        """Pass on what waits for the app, and read on if it takes that."""
        self._hand_on()
        if not self._is_client_slow and not self._is_far_ahead():
            self.transport.resume_reading()

    def _hand_on(self) -> None:
        """Pass on messages, until the app is busy with one."""
        while not self._is_app_busy and not self.transport.is_closing():
            frame = frame_at(self._unread, self._scanned)
            if frame is None:
                break
            if frame.is_control and frame.end <= len(self._unread):
                self._hand_over(self._scanned, frame.end)
            elif frame.end > self._largest_message + _LARGEST_HEAD * (self._fragments + 1):
                self._hand_over(0, len(self._unread))
                self.close()  # if uvicorn has not refused it already, by its head
            elif frame.end > len(self._unread):
                break
            else:
                self._take(frame)
        if self._is_far_ahead():
            self.transport.pause_reading()

    def _take(self, frame: _Frame) -> None:
        self._scanned = frame.end
        self._fragments += 1
        if self._fragments > _MOST_FRAGMENTS:
            self.transport.abort()
        elif frame.is_last:
            self._fragments = 0
            self._scanned = 0
            self._handed_on = object()
            self._hand_over(0, frame.end)

    def _hand_over(self, start: int, end: int) -> None:
        piece = bytes(self._unread[start:end])
        del self._unread[start:end]
        self._inner.data_received(piece)
        if len(piece) > _READ_AHEAD:
            self._inner.data_received(_PONG)

    def _is_far_ahead(self) -> bool:
        return self._is_app_busy and len(self._unread) > _READ_AHEAD

    def _note_held(self) -> None:
        if self._connection_limiter.limits.unfinished:
            self._connection_limiter.note_unfinished(self, len(self._unread) + self._taken)

    def _flush(self) -> None:
        if self._writes:
            writes, self._writes, self._size_of_writes = self._writes, [], 0
            self.transport.write(b"".join(writes))


def discard_refusals_from_log() -> None:
    """Keep one line out of the log: uvicorn takes a handshake refused in words for a mistake."""
    logging.getLogger("uvicorn.error").addFilter(_is_no_refusal)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return record.msg != "ASGI callable returned without completing handshake."


class NotedMessages:
    """ASGI middleware that tells the guard of each WebSocket what its app takes.

    A client has to say something, or is dropped, unless it names the session that it had: browsers
    ask for their page at once, and one that says nothing takes four file descriptors.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        guard: WebSocketGuard = scope["state"][GUARD]
        guard.has_spoken = len(scope["subprotocols"]) == _PROTOCOLS_WITH_SESSION

        async def noted() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                guard.note_taken(len(message.get("bytes") or message.get("text") or ""))
            return message

        await self._app(scope, noted, send)
