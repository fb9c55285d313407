"""Small upstreams on loopback that misbehave on purpose."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from websockets.asyncio.server import ServerConnection, serve

from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.websocket import WebSocketAsker
from tests import waiting

CANARY = "c4nary-k3y-0123456789abcdef"
ONCE = RetryPolicy(attempts=1)
AT_ONCE = RetryPolicy(
    attempts=3, first_wait=timedelta(0), longest_wait=timedelta(0), jitter=timedelta(0)
)
PATIENCE = timedelta(seconds=waiting.PATIENCE)
TRUST = ssl.create_default_context()
"""What the system trusts, read once."""

IMPATIENCE = timedelta(milliseconds=150)


@dataclass
class Upstream:
    """A running server: where it is, and the requests it got, each as its very bytes."""

    port: int
    requests: list[bytes] = field(default_factory=list)


Behaviour = Callable[[Upstream, asyncio.StreamWriter], Awaitable[None]]


def replying(status: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Behaviour:
    """Answer every request with this; JSON unless the headers say something else."""
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    head = "".join(f"{name}: {text}\r\n" for name, text in (fields | dict(headers or {})).items())
    reply = f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body

    async def behave(_: Upstream, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)
        await writer.drain()

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Behave differently at each request, and at last always the same."""

    async def behave(upstream: Upstream, writer: asyncio.StreamWriter) -> None:
        turn = min(len(upstream.requests), len(behaviours)) - 1
        await behaviours[turn](upstream, writer)

    return behave


async def silent(_: Upstream, writer: asyncio.StreamWriter) -> None:
    await writer.wait_closed()


async def resetting(_: Upstream, writer: asyncio.StreamWriter) -> None:
    """Cut the connection off."""
    writer.transport.abort()


async def hanging_up(_: Upstream, writer: asyncio.StreamWriter) -> None:
    """Close in the middle of the answer."""
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n["
    )
    await writer.drain()
    writer.close()


async def endless(_: Upstream, writer: asyncio.StreamWriter) -> None:
    """Send a body without end, as fast as it is read."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


async def dripping(_: Upstream, writer: asyncio.StreamWriter) -> None:
    """Send one byte now and then, so that no single wait is long."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    never = asyncio.Event()
    while True:
        writer.write(b" ")
        await writer.drain()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(never.wait(), 0.01)


async def echoing(upstream: Upstream, writer: asyncio.StreamWriter) -> None:
    """Send the request back, with its key, as if it were the answer."""
    await replying("200 OK", upstream.requests[-1])(upstream, writer)


@asynccontextmanager
async def an_upstream(
    behave: Behaviour, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[Upstream]:
    """Yield a raw HTTP server on a port, by default a free one; at the end it is gone at once."""
    upstream = Upstream(0)
    conversations: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            while True:
                upstream.requests.append(await _read_request(reader))
                await behave(upstream, writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.ensure_future(handle(reader, writer))
        conversations.add(conversation)
        conversation.add_done_callback(lambda _: writer.transport.abort())

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()
        await asyncio.sleep(0)  # what was just accepted becomes a conversation
        for conversation in conversations:
            conversation.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
        await asyncio.sleep(0)  # an aborted connection closes in the next turn of the loop


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)


def an_endpoint(port: int, patience: timedelta = PATIENCE, scheme: str = "http") -> Endpoint:
    """Return an address whose path holds the canary as its key."""
    url = f"{scheme}://127.0.0.1:{port}/v3/{CANARY}"
    return Endpoint(f"devnet {scheme} endpoint", Secret(url), patience)


@asynccontextmanager
async def asking_http(
    behave: Behaviour,
    policy: RetryPolicy = ONCE,
    patience: timedelta = PATIENCE,
    scheme: str = "http",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[HttpAsker, Upstream]]:
    """Yield an asker and the upstream that it asks."""
    async with an_upstream(behave, tls) as upstream, open_client(TRUST) as client:
        yield HttpAsker(client, an_endpoint(upstream.port, patience, scheme), policy), upstream


Talk = Callable[[ServerConnection], Awaitable[None]]


@asynccontextmanager
async def asking_websocket(
    talk: Talk, policy: RetryPolicy = ONCE, patience: timedelta = PATIENCE
) -> AsyncIterator[tuple[WebSocketAsker, Upstream]]:
    """Yield an asker and the upstream that it asks, whose requests are the connections."""
    upstream = Upstream(0)

    async def handle(connection: ServerConnection) -> None:
        upstream.requests.append(connection.request.path.encode() if connection.request else b"")
        await talk(connection)

    async with serve(handle, "127.0.0.1", 0, max_size=None, close_timeout=0.1) as server:
        upstream.port = next(iter(server.sockets)).getsockname()[1]
        asker = WebSocketAsker(an_endpoint(upstream.port, patience, "ws"), policy)
        try:
            yield asker, upstream
        finally:
            await asker.aclose()
