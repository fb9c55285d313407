"""JSON-RPC over WebSocket: messages are answered in order, and new rejections pushed between."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from http import HTTPStatus
from itertools import chain
from typing import Any, Final

from anyio import CancelScope
from msgspec import Struct
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from dashboard.domain.people.access import ApiKey
from dashboard.logs import get_logger
from dashboard.serve.counters import Counters
from dashboard.serve.dependencies import ServeLimits
from dashboard.serve.keys.key_ring import KeyRing
from dashboard.serve.rpc.dispatch import INVALID_PROJECT_ID, Dispatcher
from dashboard.serve.subscriptions import OpenSessions
from dashboard.transport.websocket_connection import GUARD, WebSocketGuard
from dashboard.wire.jsonrpc import NULL_ID, RpcError, error_reply

MOST_AT_ONCE: Final = 128
"""How many messages may wait to be answered together; others stay in the network."""

_CHUNK: Final = 65_536
_SECONDS_TO_CLOSE: Final = 1

_log = get_logger(__name__)

_SUBPROTOCOLS: Final = ("jsonrpc", "json-rpc", "jsonrpc-2.0", "json-rpc-2.0")
"""What some clients offer, and browsers then require: names in use for JSON-RPC."""
_POLICY_VIOLATION: Final = 1008
_SERVICE_RESTART: Final = 1012
"""RFC 6455, section 7.4.1, and the registry of its codes."""


class CloseReason(Struct, frozen=True):
    """Why a session ends: a close code of RFC 6455, None if the client has left."""

    code: int | None = None
    reason: str = ""


class WebSocketSession:
    """Reads, answers and pushes, each in a task of its own; the `Session` of its methods."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        caller: ApiKey,
        limits: ServeLimits,
        write_at_once: Callable[[], None],
    ) -> None:
        """Serve a client whose handshake was accepted.

        `write_at_once` is called before the last message, which waits for no client to read.
        """
        self._write_at_once = write_at_once
        self.caller = caller
        self.answered = 0
        self._receive = receive
        self._send = send
        self._limits = limits
        self._received: deque[bytes] = deque()
        self._size_received = 0
        self._has_left = False
        self._finished = CloseReason()
        self._reading: asyncio.Task[None]
        self._arrived = asyncio.Event()
        self._has_taken = asyncio.Event()
        self._pushes: deque[bytes] = deque()
        self._size_of_pushes = 0
        self._is_full = False
        self._pushed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._answered_callbacks: list[Callable[[], None]] = []
        self._close_callbacks: list[Callable[[], None]] = []
        self._heard_at = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._end: asyncio.Future[CloseReason] = asyncio.get_running_loop().create_future()

    def push(self, text: bytes) -> bool:
        """Queue a message; see `Session`. An empty queue accepts a message of any size."""
        if self._is_full or (
            self._pushes and self._size_of_pushes + len(text) > self._limits.largest_queue
        ):
            self._is_full = True
            self._has_room.clear()
            return False
        self._pushes.append(text)
        self._size_of_pushes += len(text)
        self._pushed.set()
        return True

    async def room(self) -> None:
        """Wait until the queue accepts a message."""
        await self._has_room.wait()

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the answers to the present messages were sent."""
        self._answered_callbacks.append(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        self._close_callbacks.append(callback)

    def finish(self) -> None:
        """Accept no more messages, as the server stops; close when all are answered."""
        self._finished = CloseReason(_SERVICE_RESTART, "the server stops")
        self._reading.cancel()
        self._has_left = True
        self._arrived.set()

    def end(self, code: int, reason: str) -> None:
        """Close the session as soon as possible."""
        if not self._end.done():
            self._end.set_result(CloseReason(code, reason))

    async def run(self, rpc: Dispatcher, counters: Counters) -> CloseReason:
        """Run until the client has left and all its messages are answered, or is dropped."""
        loop = asyncio.get_running_loop()
        self._heard_at = loop.time()
        coroutines = (self._receive_all(), self._answer(rpc, counters), self._push_all())
        scopes = [CancelScope() for _ in coroutines]
        tasks = [
            loop.create_task(_within(scope, each))
            for scope, each in zip(scopes, coroutines, strict=True)
        ]
        self._reading = tasks[0]
        for task in tasks:
            task.add_done_callback(self._note_failure)
        self._watch_idle()
        try:
            reason = await self._end
            if reason.code is not None:
                await self._close(reason)
            return reason
        finally:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            for scope in scopes:
                scope.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for callback in self._close_callbacks:
                callback()

    async def _receive_all(self) -> None:
        largest = self._limits.largest_body
        while (body := _body(await self._receive())) is not None:
            if len(body) > largest:
                self.end(1009, f"a message may hold {largest} bytes")
                return
            self._received.append(body)
            self._size_received += len(body)
            self._arrived.set()
            if len(self._received) >= MOST_AT_ONCE or self._size_received > largest:
                self._has_taken.clear()
                await self._has_taken.wait()
        self._has_left = True
        self._arrived.set()

    async def _answer(self, rpc: Dispatcher, counters: Counters) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            bodies = [*self._received]
            self._received.clear()
            self._size_received = 0
            self._has_taken.set()
            if bodies:
                self._heard_at = asyncio.get_running_loop().time()
                counters.messages += len(bodies)
                self.answered += len(bodies)
                await self._answer_bodies(bodies, rpc)
            elif self._has_left:
                break
            if self._has_left:
                self._arrived.set()
        if not self._end.done():
            self._end.set_result(self._finished)

    async def _answer_bodies(self, bodies: Sequence[bytes], rpc: Dispatcher) -> None:
        while bodies:
            replies = await rpc.answer_all(bodies, self.caller, self)
            await self._send_all(reply for reply in replies if reply is not None)
            self._run_answered_callbacks()
            bodies = bodies[len(replies) :]

    def _run_answered_callbacks(self) -> None:
        waiting, self._answered_callbacks = self._answered_callbacks, []
        for callback in waiting:
            callback()

    async def _push_all(self) -> None:
        while True:
            await self._pushed.wait()
            self._pushed.clear()
            while self._pushes:
                text = self._pushes[0]
                await self._send_all((text,))
                self._pushes.popleft()
                self._size_of_pushes -= len(text)
                if self._is_full and self._size_of_pushes <= self._limits.largest_queue // 2:
                    self._is_full = False
                    self._has_room.set()

    async def _send_all(self, texts: Iterable[bytes]) -> None:
        """Send messages; a client that does not read a chunk of them in time is dropped.

        Sending waits while the buffers on the way to the client are full.
        """
        remaining = iter(texts)
        patience = self._limits.connections.reading_timeout.total_seconds()
        try:
            for first in remaining:
                async with asyncio.timeout(patience):
                    await self._send_chunk(chain((first,), remaining))
        except TimeoutError:
            self.end(1008, "the client reads too slowly")
            await asyncio.Event().wait()  # until cancelled with the rest

    async def _send_chunk(self, texts: Iterator[bytes]) -> None:
        size = 0
        for text in texts:
            await self._send({"type": "websocket.send", "text": text.decode()})
            size += len(text)
            if size >= _CHUNK:
                return

    def _watch_idle(self) -> None:
        """Close the session of a client that sends nothing and has no subscription."""
        loop = asyncio.get_running_loop()
        idle = self._limits.quiet_timeout.total_seconds()
        silence = loop.time() - self._heard_at
        if silence >= idle and not self._close_callbacks:
            self.end(1000, "nothing was asked for a long time")
        else:
            self._idle_timer = loop.call_later(max(idle - silence, idle / 4), self._watch_idle)

    async def _close(self, reason: CloseReason) -> None:
        message = {"type": "websocket.close", "code": reason.code, "reason": reason.reason}
        self._write_at_once()
        with contextlib.suppress(
            OSError, TimeoutError
        ):  # the client has left, or reads not even this
            async with asyncio.timeout(_SECONDS_TO_CLOSE):
                await self._send(message)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        """End when a task fails: silently if the client has left while we sent."""
        if task.cancelled() or not (error := task.exception()) or self._end.done():
            return
        if isinstance(error, OSError):
            self._end.set_result(CloseReason())
            return
        _log.error("A WebSocket failed unexpectedly", key=self.caller.name, exc_info=error)
        self._end.set_result(CloseReason(1011, "internal error"))


async def _within(scope: CancelScope, work: Coroutine[Any, Any, None]) -> None:
    """Do work that ends with a scope, but not before a thread that it waits for.

    A cancelled task would leave its thread alone, which then counts against no limit any more.
    """
    with scope:
        await work


def _body(message: Message) -> bytes | None:
    """Return the received bytes, from text or binary; None: the client has left."""
    if message["type"] != "websocket.receive":
        return None
    text: str | None = message.get("text")
    return message.get("bytes") or b"" if text is None else text.encode()


class WebSocketEndpoint:
    def __init__(
        self,
        rpc: Dispatcher,
        limits: ServeLimits,
        counters: Counters,
        keys: KeyRing,
        sessions: OpenSessions,
    ) -> None:
        """Pass messages to `rpc` within `limits`, while `keys` accepts their keys.

        Each session is kept in `sessions` while it is open.
        """
        self._rpc = rpc
        self._limits = limits
        self._counters = counters
        self._keys = keys
        self._sessions = sessions

    async def handle_websocket(
        self, scope: Scope, receive: Receive, send: Send, caller: ApiKey
    ) -> None:
        """Answer and push until the client leaves or is dropped."""
        await receive()
        offered = scope.get("subprotocols", ())
        subprotocol = next((each for each in offered if each in _SUBPROTOCOLS), None)
        await send({"type": "websocket.accept", "subprotocol": subprotocol})
        session = WebSocketSession(receive, send, caller, self._limits, _write_at_once(scope))
        stop_following = self._follow_key(session)
        running = asyncio.create_task(session.run(self._rpc, self._counters))
        self._sessions[running] = session.finish
        reason = CloseReason()
        try:
            reason = await running
        finally:
            del self._sessions[running]
            stop_following()
            _log.info(
                "WebSocket ended",
                key=caller.name,
                messages=session.answered,
                reason=reason.reason,
            )

    def _follow_key(self, session: WebSocketSession) -> Callable[[], None]:
        """Apply changes of the key to its session; return a function that ends this."""

        def apply() -> None:
            before, caller = session.caller, self._keys.current(session.caller)
            if caller is None:
                session.end(_POLICY_VIOLATION, "API key revoked")
            elif (caller.network_ids, caller.methods) != (before.network_ids, before.methods):
                # Subscriptions would go on with what the key opened when they began.
                session.end(_POLICY_VIOLATION, "the limits of the API key changed: connect again")
            else:
                session.caller = caller

        apply()
        return self._keys.on_change(apply)


def _write_at_once(scope: Scope) -> Callable[[], None]:
    """Return the function that flushes the connection; one that does nothing on other servers."""
    guard: WebSocketGuard | None = scope.get("state", {}).get(GUARD)
    return _nothing if guard is None else guard.write_at_once


def _nothing() -> None:
    """Do nothing."""


async def finish_sessions(sessions: OpenSessions) -> None:
    """Let all sessions answer what they received, and wait until they have ended."""
    for finish in sessions.values():
        finish()
    if sessions:
        await asyncio.wait([*sessions])


async def refuse(scope: Scope, receive: Receive, send: Send, wait: int = 0) -> None:
    """Refuse a handshake with 401, or 429 if its address has to wait for `wait` seconds.

    A server without the extension for this answers 403.
    """
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    headers: dict[str, str] = {}
    status, error = HTTPStatus.UNAUTHORIZED, INVALID_PROJECT_ID
    if wait:
        status, error = HTTPStatus.TOO_MANY_REQUESTS, RpcError.rate_exceeded(wait, None)
        headers["Retry-After"] = str(wait)
    body = error_reply(NULL_ID, error)
    await Response(body, status.value, headers, "application/json")(scope, receive, send)
