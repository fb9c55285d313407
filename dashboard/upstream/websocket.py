"""WebSocket: one persistent connection, one request at a time, each failure as an UpstreamError."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)
from websockets.protocol import State

from dashboard.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable, UpstreamUnreadable
from dashboard.upstream.endpoint import Endpoint, body_limit, http_error, is_untrusted, untrusted
from dashboard.upstream.http import RetryPolicy, with_retries

MOST_ITEMS: Final = 1000
"""The items for which one answer may have room."""

_TOO_BIG: Final = 1009


class WebSocketAsker:
    """Asks one endpoint over one connection, opened at the first request and again after a failure.

    After any failure the connection is dropped: a late answer can never be taken for the
    answer to the next question.
    """

    def __init__(
        self, endpoint: Endpoint, policy: RetryPolicy, trust: ssl.SSLContext | None = None
    ) -> None:
        """Connect to nothing yet; `trust` says which certificates are trusted."""
        self.endpoint = endpoint
        self._policy = policy
        is_secure = endpoint.url.reveal().startswith("wss://")
        self._trust = (trust or ssl.create_default_context()) if is_secure else None
        self._one_at_a_time = asyncio.Lock()
        self._connection: ClientConnection | None = None

    async def post_json(self, body: bytes, limit: int) -> bytes:
        """Send one message; return the message that answers it, at most `limit` bytes."""

        async def once() -> bytes:
            async with self._one_at_a_time:
                return await self._attempt(body, limit)

        return await with_retries(once, self._policy, self.endpoint.name)

    async def aclose(self) -> None:
        """Close the connection; the next question would open a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _attempt(self, body: bytes, limit: int) -> bytes:
        seconds = self.endpoint.timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                answer = await self._exchange(body)
        except BaseException as error:
            self._drop()
            if isinstance(error, TimeoutError):
                message = f"{self.endpoint.name}: no answer within {seconds:g} s"
                raise UpstreamUnavailable(message) from None
            if isinstance(error, OSError | WebSocketException | ValueError):
                raise _translated(self.endpoint, error) from None
            raise
        if len(answer) > limit:
            self._drop()
            raise _too_large(self.endpoint.name, limit)
        return answer

    async def _exchange(self, body: bytes) -> bytes:
        connection = await self._connected()
        await _discard_unrequested(connection)
        await connection.send(body, text=True)
        return await connection.recv(decode=False)

    async def _connected(self) -> ClientConnection:
        if self._connection is None or self._connection.state is not State.OPEN:
            self._connection = await _Connect(
                self.endpoint.url.reveal(),
                ssl=self._trust,
                compression=None,  # a small compressed message may unpack into a large one
                proxy=None,
                open_timeout=None,  # the attempt as a whole is bounded
                close_timeout=1,
                max_size=body_limit(MOST_ITEMS),
                # Its records hold the address and the handshake: a logger that keeps nothing.
                logger=logging.Logger("silent", logging.CRITICAL + 1),  # noqa: LOG001 - unregistered, so that no configuration makes it speak
            )
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.transport.abort()


class _Connect(connect):
    """A connection to the configured address and to no other."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Follow nothing."""
        return exc


async def _discard_unrequested(connection: ClientConnection) -> None:
    """Discard what arrived before the request: it cannot be its answer."""
    try:
        while True:
            async with asyncio.timeout(0):
                await connection.recv(decode=False)
    except TimeoutError:
        return


def _translated(
    endpoint: Endpoint, error: OSError | WebSocketException | ValueError
) -> UpstreamError:
    """Return our error for one of the library's, whose text may quote the address."""
    name = endpoint.name
    if isinstance(error, InvalidStatus):
        headers = {key.lower(): value for key, value in error.response.headers.raw_items()}
        return http_error(endpoint, error.response.status_code, headers)
    if is_untrusted(error):  # which is a ValueError as well
        return untrusted(name)
    if isinstance(error, InvalidURI | ValueError):
        return UpstreamRefused(f"{name}: its address cannot be used: give ws(s)://host/path")
    if isinstance(error, ConnectionClosed) and error.sent and error.sent.code == _TOO_BIG:
        return _too_large(name, body_limit(MOST_ITEMS))
    if isinstance(error, ConnectionClosed):
        return UpstreamUnavailable(f"{name}: no answer: the connection was lost")
    why = "cannot connect" if isinstance(error, OSError) else "it does not speak WebSocket"
    return UpstreamUnavailable(f"{name}: no answer: {why}")


def _too_large(name: str, limit: int) -> UpstreamUnreadable:
    return UpstreamUnreadable(f"{name}: the answer is larger than {limit} bytes")
