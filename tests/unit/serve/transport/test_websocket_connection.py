"""WebSockets: the app receives and sends the same as with uvicorn's own, however bytes are cut."""

from __future__ import annotations

import asyncio
import tracemalloc
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from dashboard.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from dashboard.transport.http_connection import limited_http
from tests.integration.raw_client import upgrade_head

TURNS = 12


class Line(asyncio.Transport):
    """Takes what is written, and holds nobody up."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 2)})
        self.written = b""
        self.is_closed = False
        self.protocol: Any = None

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


OURS = limited_http(ConnectionLimiter(ConnectionLimits()))


def configuration(app: ASGIApp, largest: int) -> Config:
    config = Config(
        app,
        lifespan="off",
        log_config=None,
        ws="websockets-sansio",
        ws_max_size=largest,
        ws_per_message_deflate=False,
    )
    config.load()
    return config


async def heard(
    kind: type[asyncio.Protocol],
    pieces: list[bytes],
    largest: int = 1_000,
) -> tuple[list[bytes], int, bytes]:
    """Return what an app hears, the code that ends it, and what its client is sent."""
    messages: list[bytes] = []
    codes: list[int] = []

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (event := await receive())["type"] == "websocket.receive":
            text = event.get("text")
            messages.append(event["bytes"] if text is None else text.encode())
        codes.append(event["code"])

    config = configuration(app, largest)
    line = Line()
    connection = cast("Any", kind)(config, ServerState(), {})
    connection.connection_made(line)
    connection.data_received(upgrade_head("/"))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    line.written = b""
    for piece in pieces:
        if not line.is_closed:
            line.protocol.data_received(piece)
    for _ in range(TURNS):
        await asyncio.sleep(0)
    line.protocol.connection_lost(None)
    for _ in range(TURNS + len(messages)):
        await asyncio.sleep(0)
    return messages, codes[0], line.written


def frame(opcode: Opcode, text: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, text, fin).serialize(mask=True)


async def test_refusal_in_words_is_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.http.response.start", "status": 403, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b"not from there"})

    line = Line()
    connection = cast("Any", OURS)(configuration(app, 1_000), ServerState(), {})
    connection.connection_made(line)
    connection.data_received(upgrade_head("/"))
    for _ in range(TURNS):
        await asyncio.sleep(0)

    assert line.written.startswith(b"HTTP/1.1 403 ")
    assert line.written.endswith(b"not from there")
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


TEXTS = st.text(max_size=200).map(lambda text: frame(Opcode.TEXT, text.encode()))
OTHERS = st.one_of(
    st.binary(max_size=200).map(lambda data: frame(Opcode.BINARY, data)),
    st.binary(max_size=125).map(lambda data: frame(Opcode.PING, data)),
    st.just(
        frame(Opcode.TEXT, b"in ", fin=False)
        + frame(Opcode.PING, b"between")
        + frame(Opcode.CONT, b"three ", fin=False)
        + frame(Opcode.CONT, b"parts")
    ),
)
ENDS = st.sampled_from(
    [
        b"",
        frame(Opcode.CLOSE, b"\x03\xe8bye"),
        frame(Opcode.TEXT, b"\xff"),
        frame(Opcode.TEXT, b"x" * 1_001),
        frame(Opcode.TEXT, b"part", fin=False) + frame(Opcode.TEXT, b"no part"),
        frame(Opcode.CONT, b"of nothing"),
        b"\xc1" + frame(Opcode.TEXT, b"packed")[1:],
        Frame(Opcode.TEXT, b"bare").serialize(mask=False),
        b"\x83\x80abcd",
    ]
)


@settings(deadline=None, max_examples=40)  # two loops and servers are made for each
@given(st.lists(TEXTS | OTHERS, max_size=6), ENDS, st.lists(st.integers(1, 40), max_size=8))
def test_app_and_client_hear_the_same_however_the_bytes_are_cut(
    frames: list[bytes], end: bytes, sizes: list[int]
) -> None:
    sent = b"".join(frames)
    pieces = []
    rest = sent
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]

    ours = anyio.run(heard, OURS, [*filter(None, pieces), rest + end])
    theirs = anyio.run(heard, HttpToolsProtocol, [*filter(None, [*pieces, rest, end])])

    assert ours == theirs


def test_message_in_very_many_fragments_ends_the_connection_and_takes_little_memory() -> None:
    some = frame(Opcode.CONT, b"xx", fin=False) * 100
    pieces = [frame(Opcode.TEXT, b"", fin=False), *[some] * 400, frame(Opcode.CONT, b"")]
    tracemalloc.start()
    try:
        messages, _, _ = anyio.run(heard, OURS, pieces, 1_000_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert messages == []
    assert most < 1_000_000


def test_ping_between_the_fragments_of_a_message_is_answered_at_once() -> None:
    pieces = [frame(Opcode.TEXT, b"part", fin=False), frame(Opcode.PING, b"there?")]

    messages, _, written = anyio.run(heard, OURS, pieces)

    assert messages == []
    assert written == Frame(Opcode.PONG, b"there?").serialize(mask=False)
