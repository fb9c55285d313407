"""WebSockets of the pages take no more memory than a message, however well it is compressed."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from dashboard.transport.connection_limits import (
    ConnectionLimiter,
    ConnectionLimits,
    ConnectionPhase,
)
from dashboard.transport.http_connection import LimitedHttpConnection
from dashboard.transport.websocket_connection import NotedMessages, WebSocketGuard
from tests.waiting import PATIENCE

_HEAD = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)
_MESSAGE = 1_000_000
LIMITS = ConnectionLimits()


class _Transport(asyncio.Transport):
    """A transport to nowhere, which knows its protocol."""

    protocol: asyncio.BaseProtocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Note who reads from now on."""
        self.protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Discard what is written."""

    def pause_reading(self) -> None:
        """Read nothing anyway."""

    def resume_reading(self) -> None:
        """Read nothing anyway."""

    def is_closing(self) -> bool:
        """Stay open."""
        return False

    def close(self) -> None:
        """Stay open."""

    def abort(self) -> None:
        """Stay open."""


async def test_messages_are_unpacked_one_by_one_as_the_app_takes_them() -> None:
    sizes: list[int] = []
    is_open, is_read, is_done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        is_open.set()
        await is_read.wait()
        while (message := await receive())["type"] == "websocket.receive":
            sizes.append(len(message["bytes"]))
        is_done.set()

    connection, _ = opened(app)
    await asyncio.wait_for(is_open.wait(), PATIENCE)
    sent = b"".join(_packed(bytes(_MESSAGE)) for _ in range(30)) + _frame(8, b"")
    tracemalloc.start()
    try:
        connection.data_received(sent)
        is_read.set()
        await asyncio.wait_for(is_done.wait(), PATIENCE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert sizes == [_MESSAGE] * 30
    assert most < 10 * _MESSAGE  # all of them were 30 MB


def opened(
    app: ASGIApp, limits: ConnectionLimits = LIMITS
) -> tuple[WebSocketGuard, ConnectionLimiter]:
    """Return a connection whose handshake was sent, and what limits it."""
    config = Config(
        NotedMessages(app),
        ws="websockets-sansio",
        ws_max_size=_MESSAGE,
        lifespan="off",
        log_config=None,
    )
    config.load()
    limiter, transport = ConnectionLimiter(limits), _Transport()
    connection = LimitedHttpConnection(config, ServerState(), {}, connection_limiter=limiter)
    connection.connection_made(transport)
    connection.data_received(_HEAD)
    assert isinstance(transport.protocol, WebSocketGuard)
    return transport.protocol, limiter


@contextlib.asynccontextmanager
async def accepted(
    limits: ConnectionLimits = LIMITS,
) -> AsyncIterator[tuple[WebSocketGuard, asyncio.Queue[object], ConnectionLimiter]]:
    """Yield an accepted connection, each message as the app waits for a next, and the limits."""
    taken = asyncio.Queue[object]()

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        await send({"type": "websocket.accept"})
        while message["type"] != "websocket.disconnect":
            taken.put_nowait(message)
            message = await receive()

    connection, limiter = opened(app, limits)
    async with asyncio.timeout(PATIENCE):
        await taken.get()
        yield connection, taken, limiter
    connection.connection_lost(None)


@pytest.mark.parametrize("cut", [1, 5, 100])
async def test_client_has_to_speak_and_to_end_what_it_began(cut: int) -> None:
    message = _frame(2, bytes(200))
    async with accepted() as (connection, taken, _):
        silent = connection.phase()[0]
        connection.data_received(message)
        await taken.get()
        spoken = connection.phase()[0]
        connection.data_received(message[:cut])
        begun = connection.phase()[0]
        connection.data_received(message[cut:])
        await taken.get()
        ended = connection.phase()[0]

    assert (silent, begun) == (ConnectionPhase.BODY, ConnectionPhase.BODY)
    assert (spoken, ended) == (ConnectionPhase.OPEN, ConnectionPhase.OPEN)


@pytest.mark.parametrize(("kind", "missing"), [(0x82, 1), (0x02, 0)], ids=["frame", "fragment"])
async def test_unfinished_messages_of_all_pages_together_are_bounded(
    kind: int, missing: int
) -> None:
    unfinished = bytes([kind, 0xFE]) + (3_002).to_bytes(2, "big") + bytes(4 + 3_002 - missing)
    async with accepted(replace(LIMITS, unfinished=3_000)) as (connection, _, limiter):
        connection.data_received(unfinished[:2_500])
        before = limiter.dropped.total()
        connection.data_received(unfinished[2_500:])
        after = limiter.dropped.total()

    assert (before, after) == (0, 1)


@pytest.mark.parametrize(("kind", "missing"), [(0x82, 1), (0x02, 0)], ids=["frame", "fragment"])
async def test_connection_that_ended_holds_no_message(kind: int, missing: int) -> None:
    head = bytes([kind, 0xFF]) + _MESSAGE.to_bytes(8, "big") + bytes(4)
    tracemalloc.start()
    try:
        async with accepted() as (connection, _, _):
            connection.data_received(head + bytes(_MESSAGE - missing))
            held, _ = tracemalloc.get_traced_memory()
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert left < held - _MESSAGE // 2


async def test_last_message_that_the_app_took_counts_as_held() -> None:
    async with accepted(replace(LIMITS, unfinished=3_000)) as (connection, taken, limiter):
        connection.data_received(_frame(2, bytes(2_900)))
        await taken.get()
        before = limiter.dropped.total()
        connection.data_received(_frame(2, bytes(200))[:-1])

    limiter.note_unfinished(connection, 5_000)  # it has ended
    assert (before, limiter.dropped.total()) == (0, 1)


def _packed(content: bytes) -> bytes:
    """Return a masked frame with a message of its own, compressed."""
    packer = zlib.compressobj(9, wbits=-12)
    return _frame(0x42, (packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4])


def _frame(kind: int, content: bytes) -> bytes:
    """Return a whole frame behind a mask of zeros."""
    length = len(content)
    if length < 126:
        return bytes([0x80 | kind, 0x80 | length, 0, 0, 0, 0]) + content
    return bytes([0x80 | kind, 0xFE]) + length.to_bytes(2, "big") + bytes(4) + content
