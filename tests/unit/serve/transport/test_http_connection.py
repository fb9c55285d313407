"""HTTP connections hold little: requests sent ahead wait unparsed, and only reading is progress."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from dashboard.transport.connection_limits import (
    ConnectionLimiter,
    ConnectionLimits,
    ReadProgress,
    measure_read_progress,
)
from dashboard.transport.http_connection import LimitedHttpConnection

HEAD = b"GET /%d HTTP/1.1\r\nHost: x\r\nX-Padding: " + b"x" * 1_000 + b"\r\n\r\n"


class Line(asyncio.Transport):
    """Takes what is written; `waiting` says how much of it nobody took."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 2)})
        self.written = b""
        self.waiting = 0
        self.is_reading_now = True
        self.protocol: asyncio.BaseProtocol | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self.protocol is not None
        return self.protocol

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def pause_reading(self) -> None:
        self.is_reading_now = False

    def resume_reading(self) -> None:
        self.is_reading_now = True


class Reading:
    """A client that took nearly all `resumed` times."""

    def __init__(self, line: Line) -> None:
        self.resumed = 1
        self.transport: asyncio.Transport = line
        self.read_progress = ReadProgress()


def connection(app: Any) -> tuple[LimitedHttpConnection, Line]:  # noqa: ANN401 - as uvicorn types it
    config = Config(app, ws="none", lifespan="off", log_config=None)
    config.load()
    line = Line()
    limiter = ConnectionLimiter(ConnectionLimits(largest_head=4_000))
    http = LimitedHttpConnection(config, ServerState(), {}, connection_limiter=limiter)
    line.protocol = http
    http.connection_made(line)
    return http, line


async def test_requests_sent_ahead_are_parsed_and_answered_in_their_turn() -> None:
    asked: list[str] = []
    may_answer = asyncio.Event()

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        asked.append(scope["path"])
        await may_answer.wait()
        head = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 204, "headers": head})
        await send({"type": "http.response.body"})

    http, line = connection(app)
    http.data_received(b"".join(HEAD % number for number in range(100)))
    await asyncio.sleep(0)

    assert (asked, line.is_reading_now) == (["/0"], False)
    assert len(http.pipeline) < 8

    may_answer.set()
    for _ in range(500):
        await asyncio.sleep(0)

    assert asked == [f"/{number}" for number in range(100)]
    assert (line.written.count(b"HTTP/1.1 204"), line.is_reading_now) == (100, True)


async def test_connection_reads_no_more_while_its_client_does_not() -> None:
    http, line = connection(None)

    http.pause_writing()
    is_reading_when_full = line.is_reading_now
    http.resume_writing()

    assert (is_reading_when_full, line.is_reading_now) == (False, True)


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
async def test_upgrade_to_what_is_not_spoken_is_answered_without_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        head = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 405, "headers": head})
        await send({"type": "http.response.body"})

    http, line = connection(app)
    http.data_received(
        f"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n".encode()
    )
    for _ in range(12):
        await asyncio.sleep(0)

    assert line.written.startswith(b"HTTP/1.1 405 ")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("sizes", "progress"),
    [
        ([100_000, 200_000, 300_000], 0),
        ([300_000, 250_000, 230_000], 1),
        ([300_000, 240_000, 310_000, 250_000, 244_000], 1),
    ],
    ids=["only more", "64 kB less", "more between"],
)
async def test_only_what_the_client_took_is_progress(sizes: list[int], progress: int) -> None:
    line = Line()
    client = Reading(line)
    seen = []
    for line.waiting in sizes:
        seen.append(measure_read_progress(client))

    assert sum(one is not other for one, other in pairwise(seen)) == progress
