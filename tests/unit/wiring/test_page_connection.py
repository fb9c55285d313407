"""WebSockets of the pages take no more memory than a message, however well it is compressed."""

from __future__ import annotations

import asyncio
import zlib

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from dashboard.wiring.page_connection import PageWebSocketConnection

_HEAD = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)
_MESSAGE = 1_000_000


class _Transport(asyncio.Transport):
    """A transport to nowhere."""

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


async def test_messages_are_unpacked_one_by_one_as_the_app_takes_them() -> None:
    sizes: list[int] = []
    waiting: list[int] = []
    is_open, is_read, is_done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        is_open.set()
        await is_read.wait()
        while (message := await receive())["type"] == "websocket.receive":
            sizes.append(len(message["bytes"]))
            waiting.append(connection.queue.qsize())
        is_done.set()

    config = uvicorn.Config(app, ws_max_size=_MESSAGE, lifespan="off")
    connection = PageWebSocketConnection(config, ServerState(), {})
    connection.connection_made(_Transport())
    connection.data_received(_HEAD)
    await asyncio.wait_for(is_open.wait(), 20)

    connection.data_received(
        b"".join(_packed(bytes(_MESSAGE)) for _ in range(100)) + _frame(8, b"")
    )

    assert connection.queue.qsize() <= 3  # it was all of them, 100 MB
    is_read.set()
    await asyncio.wait_for(is_done.wait(), 20)
    assert sizes == [_MESSAGE] * 100
    assert max(waiting) <= 3  # two that end in one piece, and the end


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
