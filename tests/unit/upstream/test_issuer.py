"""Issuers that misbehave: each is given up with a reason, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
from anyio import (
    BrokenResourceError,
    EndOfStream,
    Event,
    create_task_group,
    create_tcp_listener,
    fail_after,
    move_on_after,
    sleep_forever,
)
from anyio.abc import SocketAttribute, SocketStream
from joserfc.jwk import ECKey
from msgspec.structs import replace

from dashboard.domain.people.access import Role
from dashboard.domain.people.sign_in import EVERYBODY, Issuer
from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamUnavailable, UpstreamUnreadable
from dashboard.upstream.issuer import IssuerClient
from tests.waiting import PATIENCE

Talk = Callable[[SocketStream], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MORE_THAN_ANY_ISSUER_NEEDS = 4_000_000


def clock() -> datetime:
    return datetime(2026, 11, 24, tzinfo=UTC)


async def endless(stream: SocketStream) -> None:
    """Send a table that never ends, until the client leaves."""
    await stream.send(HEAD + b'\r\n{"issuer": "')
    while True:
        await stream.send(b"a" * 10_000)


async def compressed(stream: SocketStream) -> None:
    body = gzip.compress(b" " * MORE_THAN_ANY_ISSUER_NEEDS + b"{}")
    length = f"Content-Length: {len(body)}\r\n".encode()
    await stream.send(HEAD + b"Content-Encoding: gzip\r\n" + length + b"\r\n" + body)


async def dripping(stream: SocketStream) -> None:
    """Send a byte whenever the client was silent for a moment, until it leaves."""
    await stream.send(HEAD + b"\r\n")
    while True:
        await stream.send(b" ")
        with move_on_after(0.05):
            await stream.receive()


@asynccontextmanager
async def issuer_that(talk: Talk) -> AsyncIterator[Issuer]:
    """Run an issuer that talks so once it was asked."""

    async def answer(stream: SocketStream) -> None:
        async with stream:
            with suppress(BrokenResourceError, EndOfStream):
                await stream.receive()
                await talk(stream)

    async with (
        await create_tcp_listener(local_host="127.0.0.1") as listener,
        create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, answer)
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - this is not Django
        url, scopes = f"http://127.0.0.1:{port}", "openid"
        roles = {EVERYBODY: Role.VIEWER}
        yield Issuer("own", "Own", url, "linewatch", Secret(""), scopes, "groups", roles)
        tasks.cancel_scope.cancel()


KEY = ECKey.generate_key("P-256").as_dict(private=False)


async def answering(stream: SocketStream) -> None:
    """Say where the issuer is asked, and which key it has."""
    url = f"http://127.0.0.1:{stream.extra(SocketAttribute.local_port)}"  # noqa: S610 - this is not Django
    table = {"issuer": url, "authorization_endpoint": url, "jwks_uri": url, "keys": [KEY]}
    await stream.send(HEAD + b"Connection: close\r\n\r\n" + json.dumps(table).encode())


async def test_issuer_that_hangs_keeps_nobody_from_another_one() -> None:
    client, asked = IssuerClient(clock, timeout=timedelta(seconds=PATIENCE)), Event()

    async def hang(_: SocketStream) -> None:
        asked.set()
        await sleep_forever()

    async def begin(issuer: Issuer) -> str:
        return await client.sign_in_url(issuer, "https://w.example/", "state", "nonce", "v" * 43)

    async with (
        issuer_that(hang) as bad,
        issuer_that(answering) as good,
        create_task_group() as tasks,
    ):
        tasks.start_soon(begin, replace(bad, name="bad"))
        await asked.wait()
        with fail_after(PATIENCE / 2):
            urls = [await begin(good), await begin(good)]
        tasks.cancel_scope.cancel()

    assert [each.startswith(good.url) for each in urls] == [True, True]


@pytest.mark.parametrize("talk", [endless, compressed], ids=["endless", "compressed"])
async def test_answer_of_more_than_an_issuer_needs_is_not_read(talk: Talk) -> None:
    client = IssuerClient(clock, timeout=timedelta(seconds=PATIENCE))

    async with issuer_that(talk) as issuer:
        with pytest.raises(UpstreamUnavailable, match="compressed, too large"):
            await client.sign_in_url(issuer, "https://watch.example/", "state", "nonce", "v" * 43)


async def test_token_with_a_header_of_another_form_is_refused_as_any_forged_one() -> None:
    client = IssuerClient(clock, timeout=timedelta(seconds=PATIENCE))
    header = urlsafe_b64encode(b'{"alg":"RS256","crit":5}').decode().rstrip("=")

    async with issuer_that(answering) as issuer:
        with pytest.raises(UpstreamUnreadable, match="signature of the token is not valid"):
            await client.ended(issuer, f"{header}.e30.AA")


async def test_issuer_that_drips_is_given_up_in_time() -> None:
    client = IssuerClient(clock, timeout=timedelta(seconds=0.5))

    async with issuer_that(dripping) as issuer:
        with pytest.raises(UpstreamUnavailable, match=r"did not answer within 0\.5 s"):
            await client.sign_in_url(issuer, "https://watch.example/", "state", "nonce", "v" * 43)
