"""An exclusion upstream that fails in every way over both transports, and what we believe."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from anyio.from_thread import start_blocking_portal
from websockets.asyncio.server import Server, ServerConnection, serve

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint, body_limit
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.http import HttpAsker, HttpClient, RetryPolicy, open_client
from dashboard.upstream.websocket import WebSocketAsker
from tests.bench.peers.exclusion_upstream import a_hash, answered, true_record
from tests.faults.rows import Chance, Play, Row
from tests.integration.faulty_upstreams import Upstream, an_upstream

_HASHES: Final = 300
_PATIENCE: Final = timedelta(milliseconds=250)
_POLICY: Final = RetryPolicy(
    attempts=2, first_wait=timedelta(0), longest_wait=timedelta(0), jitter=timedelta(0)
)
_HUGE: Final = 100_000_000
_IN_BUFFERS: Final = 40_000_000
"""What sockets of both sides may hold beyond what is read: Linux lets the one that receives grow to
33 MB (`net.ipv4.tcp_rmem`) if its reader is late, and the one that sends to 4 MB."""

_KEY: Final = Path(__file__).parents[1] / "integration" / "untrusted.pem"

Replies = list[dict[str, Any]]


def _swapped(replies: Replies, chance: Random) -> Replies:
    first, other = chance.choices(range(len(replies)), k=2)
    results = [each["result"] for each in replies]
    results[first], results[other] = results[other], results[first]
    return [each | {"result": result} for each, result in zip(replies, results, strict=True)]


def _changed(replies: Replies, chance: Random, **members: Any) -> Replies:  # noqa: ANN401 - any JSON
    place = chance.randrange(len(replies))
    return [each | members if at == place else each for at, each in enumerate(replies)]


ITEM_FAULTS: Final[dict[str, Callable[[Replies, Random], list[Any]]]] = {
    "missing": lambda replies, chance: chance.sample(replies, max(0, len(replies) - 2)),
    "swapped": _swapped,
    "shuffled": lambda replies, chance: chance.sample(replies, len(replies)),
    "wrong id": lambda replies, chance: _changed(replies, chance, id=chance.randrange(10**9)),
    "ids shifted": lambda replies, _: [each | {"id": each["id"] + 1} for each in replies],
    "duplicate": lambda replies, chance: [*replies, chance.choice(replies) | {"result": None}],
    "foreign": lambda replies, _: [*replies, {"jsonrpc": "2.0", "id": 7, "result": None}],
    "error": lambda replies, chance: _changed(replies, chance, error={"code": -32000}),
    "too fast": lambda replies, _: [
        {"jsonrpc": "2.0", "id": each["id"], "error": {"code": -32005, "message": "x"}}
        for each in replies
    ],
    "wrong type": lambda replies, chance: _changed(replies, chance, result=chance.choice((7, ""))),
    "empty record": lambda replies, chance: _changed(replies, chance, result={}),
    "no object": lambda replies, _: [None, *replies[1:]],
}
"""What may be wrong within a batch; some of it is right in the end, as another order is."""

BODY_FAULTS: Final[dict[str, Callable[[bytes, Random], bytes]]] = {
    "truncated": lambda body, chance: body[: chance.randrange(len(body))],
    "broken": lambda body, chance: body.replace(b":", b";", chance.randrange(1, 9)),
    "HTML": lambda _body, _: b"<!doctype html><title>Sign in</title>",
    "one null": lambda _body, _: b'{"jsonrpc":"2.0","id":1,"result":null}',
    "nothing": lambda _body, _: b"",
    "deep": lambda _body, _: b"[" * 100_000,
}
STATUSES: Final = (b"402 Payment Required", b"413 Content Too Large", b"500 Oops", b"503 Busy")
HTTP_FAULTS: Final = (
    *("silent", "reset", "cut off", "429", "redirect", "100 MB", "slow drip", "compressed"),
    *(each.decode() for each in STATUSES),
)
SOCKET_FAULTS: Final = ("silent", "reset", "100 MB", "closing")


class FaultyUpstream:
    """Answers the truth, but for one in so many requests, which goes wrong as `fault` says."""

    def __init__(self) -> None:
        self.fault = ""
        self.chance = Random(0)  # noqa: S311 - no secret
        self.most_sent = 0

    def body(self, question: bytes) -> bytes:
        """Return the true answer, or what the fault makes of it."""
        body = answered(question)
        if not self.strikes():
            return body
        if self.fault in BODY_FAULTS:
            return BODY_FAULTS[self.fault](body, self.chance)
        replies = json.loads(body)
        many = replies if isinstance(replies, list) else [replies]
        wrong = ITEM_FAULTS[self.fault](many, self.chance)
        return json.dumps(wrong if isinstance(replies, list) else (wrong or [{}])[0]).encode()

    def strikes(self) -> bool:
        """Whether this request goes wrong."""
        return self.chance.random() < 0.6

    @property
    def is_of_transport(self) -> bool:
        """Whether the fault is not in the text of an answer."""
        return self.fault not in BODY_FAULTS and self.fault not in ITEM_FAULTS

    async def over_http(self, got: Upstream, writer: asyncio.StreamWriter) -> None:
        question = got.requests.pop().partition(b"\r\n\r\n")[2]
        if self.is_of_transport and self.strikes():
            await self._misbehave(question, writer)
        else:
            body = answered(question) if self.is_of_transport else self.body(question)
            writer.write(_response(b"200 OK", body))
            await writer.drain()

    async def _misbehave(self, question: bytes, writer: asyncio.StreamWriter) -> None:
        match self.fault:
            case "silent":
                await writer.wait_closed()
            case "reset":
                writer.transport.abort()
            case "cut off":
                writer.write(_response(b"200 OK", answered(question))[:-9])
                await writer.drain()
                writer.close()
            case "429":
                writer.write(_response(b"429 Slow", b"", b"Retry-After: 1\r\n"))
            case "redirect":
                writer.write(_response(b"302 Found", b"", b"Location: http://127.0.0.1:9/\r\n"))
            case "compressed":
                body = gzip.compress(answered(question))
                writer.write(_response(b"200 OK", body, b"Content-Encoding: gzip\r\n"))
            case "100 MB" | "slow drip":
                writer.write(_response(b"200 OK", b"", length=_HUGE))
                await self._pour(writer, slowly=self.fault == "slow drip")
            case status:
                writer.write(_response(status.encode(), b"{}"))

    async def _pour(self, writer: asyncio.StreamWriter, *, slowly: bool) -> None:
        some, sent = b" " * (1 if slowly else 1 << 16), 0
        while sent < _HUGE:
            writer.write(some)
            await writer.drain()
            sent += len(some)
            self.most_sent = max(self.most_sent, sent)
            if slowly:
                await asyncio.sleep(0.01)

    async def over_websocket(self, connection: ServerConnection) -> None:
        """Answer on one connection."""
        async for message in connection:
            question = message.encode() if isinstance(message, str) else message
            if not self.is_of_transport:
                await connection.send(self.body(question).decode(errors="replace"))
            elif not self.strikes():
                await connection.send(answered(question).decode())
            elif self.fault == "100 MB":
                await connection.send(b" " * _HUGE)
            elif self.fault == "closing":
                await connection.close(1011)
            elif self.fault == "reset":
                connection.transport.abort()


def _response(status: bytes, body: bytes, more: bytes = b"", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, size, more) + body


class Site:
    """The faulty upstream and how it is reached over each transport."""

    def __init__(self, http: HttpClient, upstream: FaultyUpstream, ports: Sequence[int]) -> None:
        self._http = http
        self._upstream = upstream
        self._ports = ports

    async def play(self, chance: Chance) -> None:
        """Let one fault happen over one transport, or over the preferred one of two."""
        transport = ("HTTP", "WebSocket", "both")[chance.number % 3]
        texts = (*ITEM_FAULTS, *BODY_FAULTS)
        faults = {
            "HTTP": (*texts, *HTTP_FAULTS, "TLS"),
            "WebSocket": (*texts, *SOCKET_FAULTS),
            "both": (*texts, *SOCKET_FAULTS),
        }[transport]
        upstream = self._upstream
        upstream.fault = faults[chance.number // 3 % len(faults)]
        upstream.chance, upstream.most_sent = chance, 0
        asked = [a_hash(chance.randrange(2**40) * chance.choice((1, 100))) for _ in range(_HASHES)]
        async with self._client(transport) as client:
            for _ in range(2):
                _judge(await client.ask(asked), asked)
        assert upstream.most_sent <= body_limit(_HASHES) + _IN_BUFFERS, "too much was read"

    @asynccontextmanager
    async def _client(self, transport: str) -> AsyncIterator[ExclusionClient]:
        plain, secure, sockets = self._ports
        is_tls = self._upstream.fault == "TLS"
        url = f"https://127.0.0.1:{secure}" if is_tls else f"http://127.0.0.1:{plain}"
        over_http = HttpAsker(self._http, _endpoint(url), _POLICY)
        over_websocket = WebSocketAsker(_endpoint(f"ws://127.0.0.1:{sockets}"), _POLICY)
        try:
            if transport == "HTTP":
                yield ExclusionClient(over_http, "chain")
            else:
                second = over_http if transport == "both" else None
                yield ExclusionClient(over_websocket, "chain", second=second)
        finally:
            await over_websocket.aclose()


def _endpoint(url: str) -> Endpoint:
    return Endpoint("faulty exclusion endpoint", Secret(url), _PATIENCE)


def _judge(answers: Sequence[ExclusionAnswer], asked: Sequence[TxHash]) -> None:
    """Every answer is the truth, or says that there is none."""
    assert [each.tx_hash for each in answers] == list(asked)
    for each in answers:
        if each.failure is None:
            assert each.record == true_record(int.from_bytes(each.tx_hash)), "a false verdict"


@asynccontextmanager
async def _site() -> AsyncIterator[Site]:
    upstream = FaultyUpstream()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(_KEY)
    async with contextlib.AsyncExitStack() as opened:
        ports = []
        for trust in (None, tls):
            server = await opened.enter_async_context(an_upstream(upstream.over_http, trust))
            ports.append(server.port)
        sockets: Server = await opened.enter_async_context(
            serve(upstream.over_websocket, "127.0.0.1", 0, max_size=None, close_timeout=0.1)
        )
        ports.append(next(iter(sockets.sockets)).getsockname()[1])
        http = await opened.enter_async_context(open_client())
        yield Site(http, upstream, ports)


@contextmanager
def _staged(_folder: Path) -> Iterator[Play]:
    """Keep the servers for all plays."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_site()) as site:
        yield partial(portal.call, site.play)


FAULTY_UPSTREAM = Row(
    name="faulty-upstream",
    promise=(
        "an exclusion API times out, resets, answers 402, 413, 429, 5xx, HTML, broken JSON, "
        "wrong, missing, swapped or duplicate items, redirects, 100 MB, a byte now and then, or "
        "has a wrong certificate, over HTTP and WebSocket: no crash, no false verdict, no more is"
        " read than 64 kB and 8 kB for each item asked"
    ),
    short=72,
    full=2_000,
    stage=_staged,
)
