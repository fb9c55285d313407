"""Issuers that misbehave: each is given up with a reason, in bounded time and memory."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.domain.people.access import Role
from dashboard.domain.people.sign_in import EVERYBODY, Issuer
from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamUnavailable
from dashboard.upstream.issuer import IssuerClient
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MORE_THAN_ANY_ISSUER_NEEDS = 4_000_000


def clock() -> datetime:
    return datetime(2026, 11, 24, tzinfo=UTC)


async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a table that never ends, until the client leaves."""
    writer.write(HEAD + b'\r\n{"issuer": "')
    while True:
        writer.write(b"a" * 10_000)
        await writer.drain()


async def compressed(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    body = gzip.compress(b" " * MORE_THAN_ANY_ISSUER_NEEDS + b"{}")
    length = f"Content-Length: {len(body)}\r\n".encode()
    writer.write(HEAD + b"Content-Encoding: gzip\r\n" + length + b"\r\n" + body)


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a byte whenever the client was silent for a moment, until it leaves."""
    writer.write(HEAD + b"\r\n")
    while not reader.at_eof():
        writer.write(b" ")
        await writer.drain()
        try:
            await asyncio.wait_for(reader.read(1), timeout=0.05)
        except TimeoutError:
            continue


@asynccontextmanager
async def issuer_that(talk: Talk) -> AsyncIterator[Issuer]:
    """Run an issuer that talks so once it was asked."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            await talk(reader, writer)
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        scopes, roles = "openid", {EVERYBODY: Role.VIEWER}
        yield Issuer("own", "Own", url, "linewatch", Secret(""), scopes, "groups", roles)


@pytest.mark.parametrize("talk", [endless, compressed], ids=["endless", "compressed"])
async def test_answer_of_more_than_an_issuer_needs_is_not_read(talk: Talk) -> None:
    client = IssuerClient(clock, timeout=timedelta(seconds=PATIENCE))

    async with issuer_that(talk) as issuer:
        with pytest.raises(UpstreamUnavailable, match="compressed, or too large"):
            await client.sign_in_url(issuer, "https://watch.example/", "state", "nonce", "v" * 43)


async def test_issuer_that_drips_is_given_up_in_time() -> None:
    client = IssuerClient(clock, timeout=timedelta(seconds=0.5))

    async with issuer_that(dripping) as issuer:
        with pytest.raises(UpstreamUnavailable, match=r"did not answer within 0\.5 s"):
            await client.sign_in_url(issuer, "https://watch.example/", "state", "nonce", "v" * 43)
