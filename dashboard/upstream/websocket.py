"""WebSocket: one connection for many concurrent questions, each failure as an UpstreamError."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from bisect import bisect_right, insort
from itertools import islice
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from dashboard.errors import (
    UpstreamError,
    UpstreamFailed,
    UpstreamRefused,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.endpoint import (
    Charge,
    Endpoint,
    body_limit,
    http_error,
    is_untrusted,
    untrusted,
)
from dashboard.upstream.http import RetryPolicy, with_retries

MOST_ITEMS: Final = 1000
"""The most items that one answer may have."""

_TOO_BIG: Final = 1009
_ID: Final = re.compile(rb'"id"\s*:\s*"?(\d{1,18})')
_ERROR: Final = b'"error"'
_IDS_READ: Final = 8
"""How many ids of an answer are searched for one that was asked."""


class WebSocketAsker:
    """Asks one endpoint over one connection, which the first question opens.

    Questions do not wait for each other. Their ids count up, so an answer finds its question by the
    first id in it, and the caller checks all of them. If the connection is lost, every pending
    question is retried on a new one, by the policy.
    """

    def __init__(
        self, endpoint: Endpoint, policy: RetryPolicy, trust: ssl.SSLContext | None = None
    ) -> None:
        """Connect later; `trust` says which certificates are trusted."""
        self.endpoint = endpoint
        self._policy = policy
        is_secure = endpoint.url.reveal().startswith("wss://")
        self._trust = (trust or ssl.create_default_context()) if is_secure else None
        self._opening = asyncio.Lock()
        self._connection: _Connection | None = None

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Send one message; return its answer, at most `limit` bytes."""
        named = _ID.search(body)
        first = 0 if named is None else int(named[1])
        ids = range(first, first + (1 if charge is None else charge.calls))

        async def once() -> bytes:
            async with self.endpoint.turn(charge):
                return await self._attempt(ids, body, limit)

        return await with_retries(once, self._policy, self.endpoint.name)

    async def aclose(self) -> None:
        """Close the connection; another question would open a new one."""
        line, self._connection = self._connection, None
        if line is not None:
            await line.close()

    async def _attempt(self, ids: range, body: bytes, limit: int) -> bytes:
        seconds = self.endpoint.timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connected()
                answer = await connection.ask(ids, body)
        except TimeoutError:
            message = f"{self.endpoint.name}: no answer within {seconds:g} s"
            raise UpstreamUnavailable(message) from None
        except (OSError, WebSocketException, ValueError) as error:
            raise _translated(self.endpoint, error) from None
        if len(answer) > limit:
            raise _too_large(self.endpoint.name, limit)
        return answer

    async def _connected(self) -> _Connection:
        async with self._opening:
            if self._connection is None or self._connection.is_over:
                self._connection = _Connection(await self._open())
            return self._connection

    async def _open(self) -> ClientConnection:
        return await _Connect(
            self.endpoint.url.reveal(),
            ssl=self._trust,
            compression=None,  # a small compressed message may unpack into a large one
            proxy=None,
            open_timeout=None,  # the attempt as a whole is bounded
            close_timeout=1,
            max_size=body_limit(MOST_ITEMS),
            # Log records would contain the address and the handshake, so nothing is logged.
            logger=logging.Logger("silent", logging.CRITICAL + 1),  # noqa: LOG001 - unregistered, so that no configuration makes it speak
        )


class _Connection:
    """One connection, with its pending questions by their first ids."""

    def __init__(self, connection: ClientConnection) -> None:
        self.is_over = False
        self._connection = connection
        self._waiting: dict[int, tuple[range, asyncio.Future[bytes]]] = {}
        self._firsts: list[int] = []
        self._heard = 0
        self._reading = asyncio.create_task(self._read())

    async def ask(self, ids: range, body: bytes) -> bytes:
        """Send a question with these ids and return its answer; raises what ended the connection.

        If nothing at all arrives until the question times out, the connection may be dead and is
        aborted.
        """
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        heard = self._heard
        self._waiting[ids.start] = ids, answer
        insort(self._firsts, ids.start)
        try:
            await self._connection.send(body, text=True)
            return await answer
        except asyncio.CancelledError:
            if heard == self._heard:
                self.is_over = True
                self._connection.transport.abort()
            raise
        finally:
            self._firsts.remove(ids.start)
            self._waiting.pop(ids.start, None)

    async def close(self) -> None:
        await self._connection.close()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        try:
            while True:
                message = await self._connection.recv(decode=False)
                self._heard += 1
                answer = self._asked(message)
                if answer is not None and not answer.done():
                    answer.set_result(message)
        except ConnectionClosed as error:
            self.is_over = True
            for _, answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(error)

    def _asked(self, message: bytes) -> asyncio.Future[bytes] | None:
        """Return the pending question of a message: the one with the first id that was asked.

        A message with other ids, or an error without ids, goes to the only or oldest question,
        which then fails. Everything else is dropped.
        """
        named = []
        for each in islice(_ID.finditer(message), _IDS_READ):
            named.append(number := int(each[1]))
            place = bisect_right(self._firsts, number)
            if place and number in (found := self._waiting[self._firsts[place - 1]])[0]:
                return found[1]
        if not self._firsts or not (_ERROR in message if not named else self._is_for_only(named)):
            return None
        return self._waiting[self._firsts[0]][1]

    def _is_for_only(self, named: list[int]) -> bool:
        """Whether unknown ids must be meant for the only pending question.

        Smaller ids belong to a late answer to an earlier question.
        """
        return len(self._firsts) == 1 and max(named) > self._firsts[0]


class _Connect(connect):
    """A connection to the configured address that follows no redirect."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Refuse to follow a redirect."""
        return exc


def _translated(
    endpoint: Endpoint, error: OSError | WebSocketException | ValueError
) -> UpstreamError:
    """Convert an error of the library, whose text may quote the address."""
    name = endpoint.name
    if isinstance(error, InvalidStatus):
        headers = {key.lower(): value for key, value in error.response.headers.raw_items()}
        refused = http_error(endpoint, error.response.status_code, headers)
        is_failed = isinstance(refused, UpstreamFailed)  # at no question: none was sent yet
        return UpstreamUnavailable(str(refused)) if is_failed else refused
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
