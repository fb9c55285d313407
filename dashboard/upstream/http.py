"""HTTP: one request, one answer of limited size and time, each failure as an UpstreamError."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from random import random
from typing import Final, Self, TypeAlias, TypeVar

import httpx
from msgspec import Struct

from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.tracing import tracing
from dashboard.upstream.endpoint import Charge, Endpoint, http_error, is_untrusted, untrusted

_CONNECTIONS: Final = 10
_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "Linewatch",
}


_Server: TypeAlias = tuple[str, str, int | None]


class _Connections(Struct):
    """The connections to one server that new requests share, and how many use them now."""

    transport: httpx.AsyncHTTPTransport
    requests: int = 0


class HttpClient:
    """The connections of a process. A client of httpx would keep cookies, and double the time.

    httpcore forgets a connection whose request is cancelled at the wrong moment, but counts it: ten
    of them, and everything waits for ever. Therefore a cancelled request ends the connections that
    it shared, which are those to one server. They take no more requests, and are closed after the
    last one.
    """

    def __init__(self, connect: Callable[[], httpx.AsyncHTTPTransport]) -> None:
        """Make the connections to each server with `connect`, again and again."""
        self._connect = connect
        self._shared: dict[_Server, _Connections] = {}
        self._closing: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        open_ones = [each.transport.aclose() for each in self._shared.values()]
        await asyncio.gather(*open_ones, *self._closing)

    @asynccontextmanager
    async def response(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        """Yield the response to a request, and close it."""
        server = request.url.scheme, request.url.host, request.url.port
        shared = self._shared.get(server)
        if shared is None:
            shared = self._shared[server] = _Connections(self._connect())
        shared.requests += 1
        try:
            response = await shared.transport.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        except asyncio.CancelledError:
            if self._shared.get(server) is shared:
                del self._shared[server]
            raise
        finally:
            shared.requests -= 1
            if self._shared.get(server) is not shared and not shared.requests:
                closing = asyncio.ensure_future(shared.transport.aclose())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)


def open_client(trust: ssl.SSLContext | None = None) -> HttpClient:
    """Return the one client of a process; close it with `aclose`.

    `trust` says which certificates are trusted, by default those that the system trusts.

    Proxies and `.netrc` of the environment are not used: a request goes to the configured address
    with the configured credentials. httpcore is silenced, since it would log that address.
    """
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    connect = partial(
        httpx.AsyncHTTPTransport,
        verify=trust or ssl.create_default_context(),  # httpx would use its own list (certifi)
        limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
        trust_env=False,
    )
    return HttpClient(connect)


class HttpAsker:
    """Asks one endpoint over a shared client.

    Redirects are not followed and compressed answers are refused, since either could get around a
    limit: the configured address, or the allowed bytes.
    """

    def __init__(self, client: HttpClient, endpoint: Endpoint, policy: RetryPolicy) -> None:
        """Use a client that the caller closes."""
        self.endpoint = endpoint
        self._client = client
        self._policy = policy

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Post JSON to the endpoint itself; return the answer, at most `limit` bytes."""
        headers = {"Content-Type": "application/json"}
        request = self._request("POST", self.endpoint.url.reveal(), headers, body)
        return await self._persist(request, limit, charge)

    async def get(
        self, path: str, headers: Mapping[str, str], limit: int, charge: Charge | None = None
    ) -> bytes:
        """Get `path` below the endpoint; return the answer, at most `limit` bytes."""
        url = f"{self.endpoint.url.reveal().rstrip('/')}/{path}"
        return await self._persist(self._request("GET", url, headers), limit, charge)

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> httpx.Request:
        """Build a request; only connecting has a time-out of its own, besides the whole attempt.

        httpcore does not close a socket whose TLS handshake is cancelled from outside.
        """
        try:
            request = httpx.Request(
                method,
                url,
                content=body,
                headers={**_HEADERS, **headers},
                extensions={"timeout": {"connect": self.endpoint.timeout.total_seconds() / 2}},
            )
        except (httpx.InvalidURL, UnicodeError):
            raise _unusable_address(self.endpoint) from None
        if request.url.userinfo:
            user = httpx.BasicAuth(request.url.username, request.url.password)
            return next(user.auth_flow(request))
        return request

    async def _persist(self, request: httpx.Request, limit: int, charge: Charge | None) -> bytes:
        async def once() -> bytes:
            async with self.endpoint.turn(charge):
                return await self._attempt(request, limit)

        return await with_retries(once, self._policy, self.endpoint.name)

    async def _attempt(self, request: httpx.Request, limit: int) -> bytes:
        """Send a request once; errors are raised `from None`, since httpx may quote the address."""
        try:
            async with (
                asyncio.timeout(self.endpoint.timeout.total_seconds()),
                self._client.response(request) as response,
            ):
                return await self._read(response, limit)
        except (TimeoutError, httpx.HTTPError) as error:
            raise _no_answer(self.endpoint, error) from None

    async def _read(self, response: httpx.Response, limit: int) -> bytes:
        if not response.is_success:
            raise http_error(self.endpoint, response.status_code, response.headers)
        self._refuse_foreign_content(response)
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > limit:
                raise UpstreamUnreadable(
                    f"{self.endpoint.name}: the answer is larger than {limit} bytes"
                )
        return bytes(body)

    def _refuse_foreign_content(self, response: httpx.Response) -> None:
        content = response.headers.get("content-type", "application/json").partition(";")[0]
        if not content.strip().lower().endswith(("json", "text/plain")):
            raise UpstreamUnreadable(
                f"{self.endpoint.name}: answered with something other than JSON"
            )
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise UpstreamUnreadable(
                f"{self.endpoint.name}: answered compressed, which was not asked for"
            )


async def server_time(client: HttpClient, endpoint: Endpoint) -> datetime | None:
    """Return the server's time, whatever else it answers; None if it gives none.

    Only its root is requested, so no key is sent and no call counts. UpstreamError if nothing
    answers HTTP there.
    """
    try:
        request = httpx.Request("HEAD", endpoint.url.reveal())
        async with (
            asyncio.timeout(endpoint.timeout.total_seconds()),
            client.response(request) as response,
        ):
            pass
        found = parsedate_to_datetime(response.headers["date"])
    except (TimeoutError, httpx.HTTPError) as error:
        raise _no_answer(endpoint, error) from None
    except (httpx.InvalidURL, UnicodeError):
        raise _unusable_address(endpoint) from None
    except (KeyError, ValueError):
        return None
    return None if found.tzinfo is None else found


def _no_answer(endpoint: Endpoint, error: TimeoutError | httpx.HTTPError) -> UpstreamError:
    """Return the error for a missing answer, without httpx's text, which may quote the address."""
    name = endpoint.name
    if isinstance(error, TimeoutError):
        seconds = endpoint.timeout.total_seconds()
        return UpstreamUnavailable(f"{name}: no answer within {seconds:g} s")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return _unusable_address(endpoint)
    if is_untrusted(error):
        return untrusted(name)
    is_unreachable = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
    why = "cannot connect" if is_unreachable else "it was cut off or is not HTTP"
    return UpstreamUnavailable(f"{name}: no answer: {why}")


def _unusable_address(endpoint: Endpoint) -> UpstreamRefused:
    return UpstreamRefused(f"{endpoint.name}: its address cannot be used: give http(s)://host/path")


Answer = TypeVar("Answer")


class RetryPolicy(Struct, frozen=True):
    """How a request is retried after UpstreamUnavailable, and after no other error.

    `deadline` bounds all attempts and waits together. Each wait is twice the one before, plus a
    random share of `jitter`, so that clients that failed together do not return together. A request
    that failed only after `patience` is not retried: somebody waits for others meanwhile.
    """

    attempts: int = 3
    deadline: timedelta = timedelta(seconds=30)
    first_wait: timedelta = timedelta(milliseconds=200)
    longest_wait: timedelta = timedelta(seconds=5)
    jitter: timedelta = timedelta(milliseconds=300)
    patience: timedelta = timedelta.max


async def with_retries(
    ask: Callable[[], Awaitable[Answer]], policy: RetryPolicy, name: str
) -> Answer:
    """Return the result of `ask` within the policy; errors name the endpoint by `name`."""
    try:
        with tracing.span("upstream call", endpoint=name):
            return await _with_retries(ask, policy)
    except TimeoutError:
        seconds = policy.deadline.total_seconds()
        raise UpstreamUnavailable(f"{name}: no answer within {seconds:g} s in all") from None


async def _with_retries(ask: Callable[[], Awaitable[Answer]], policy: RetryPolicy) -> Answer:
    wait, now = policy.first_wait, asyncio.get_running_loop().time
    async with asyncio.timeout(policy.deadline.total_seconds()):
        for _ in range(policy.attempts - 1):
            began = now()
            try:
                return await ask()
            except UpstreamUnavailable:
                if now() - began >= policy.patience.total_seconds():
                    raise
                jitter = policy.jitter * random()  # noqa: S311 - it only spreads load
            await asyncio.sleep(min(wait + jitter, policy.longest_wait).total_seconds())
            wait = min(2 * wait, policy.longest_wait)
        return await ask()
