"""JSON-RPC over WebSocket: messages are answered in order, and new rejections pushed between."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from dashboard.domain.people.access import ApiKey
from dashboard.logs import get_logger
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import KeyRing
from dashboard.serve.rpc.dispatch import INVALID_PROJECT_ID, Dispatcher
from dashboard.serve.subscriptions import SessionLimits
from dashboard.transport.frames import MESSAGE_BATCHES
from dashboard.wire.jsonrpc import NULL_ID, RpcError, error_reply

MOST_AT_ONCE: Final = 128
"""Messages that may wait to be answered together; others stay in the network."""

_CHUNK: Final = 65_536
_SECONDS_TO_CLOSE: Final = 1

_log = get_logger(__name__)

_SUBPROTOCOLS: Final = ("jsonrpc", "json-rpc", "jsonrpc-2.0", "json-rpc-2.0")
"""What some clients offer, and browsers then require: names in use for JSON-RPC."""
_POLICY_VIOLATION: Final = 1008
"""RFC 6455, section 7.4.1."""


@dataclass(frozen=True, slots=True)
class CloseReason:
    """Why a session ends: a close code of RFC 6455, None where the client has left."""

    code: int | None = None
    reason: str = ""


class WebSocketSession:
    """Reads, answers and pushes, each in a task of its own; the `Session` of its methods."""

    def __init__(
        self, receive: Receive, send: Send, caller: ApiKey, session_limits: SessionLimits
    ) -> None:
        """Serve a client whose handshake was accepted; `send` knows `MESSAGE_BATCHES`."""
        self.caller = caller
        self.answered = 0
        self._receive = receive
        self._send = send
        self._limits = session_limits
        self._received: deque[bytes] = deque()
        self._size_received = 0
        self._has_left = False
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
            self._pushes and self._size_of_pushes + len(text) > self._limits.queue
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
        """Call `callback` at the end."""
        self._close_callbacks.append(callback)

    def end(self, code: int, reason: str) -> None:
        """Close the session as soon as possible."""
        if not self._end.done():
            self._end.set_result(CloseReason(code, reason))

    async def run(self, rpc: Dispatcher, counters: Counters) -> CloseReason:
        """Run until the client has left and all its messages are answered, or is dropped."""
        loop = asyncio.get_running_loop()
        self._heard_at = loop.time()
        coroutines = (self._receive_all(), self._answer(rpc, counters), self._push_all())
        tasks = [loop.create_task(each) for each in coroutines]
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
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for callback in self._close_callbacks:
                callback()

    async def _receive_all(self) -> None:
        largest = self._limits.largest_message
        while (bodies := _bodies(await self._receive())) is not None:
            size = sum(map(len, bodies))
            if size > largest and max(map(len, bodies)) > largest:
                self.end(1009, f"a message may hold {largest} bytes")
                return
            self._received.extend(bodies)
            self._size_received += size
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
            self._end.set_result(CloseReason())

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
                if self._is_full and self._size_of_pushes <= self._limits.queue // 2:
                    self._is_full = False
                    self._has_room.set()

    async def _send_all(self, texts: Iterable[bytes]) -> None:
        """Send messages; a client that does not read a chunk of them in time is dropped.

        Sending waits while the buffers on the way to the client are full.
        """
        remaining = iter(texts)
        text = next(remaining, None)
        try:
            while text is not None:
                chunk: list[bytes] = []
                size = 0
                while text is not None and size < _CHUNK:
                    chunk.append(text)
                    size += len(text)
                    text = next(remaining, None)
                async with asyncio.timeout(self._limits.patience.total_seconds()):
                    await self._send({"type": "websocket.send", "texts": chunk})
        except TimeoutError:
            self.end(1008, "the client reads too slowly")
            await asyncio.Event().wait()  # until cancelled with the rest

    def _watch_idle(self) -> None:
        """Close the session of a client that sends nothing and has no subscription."""
        loop = asyncio.get_running_loop()
        idle = self._limits.idle.total_seconds()
        silence = loop.time() - self._heard_at
        if silence >= idle and not self._close_callbacks:
            self.end(1000, "nothing was asked for a long time")
        else:
            self._idle_timer = loop.call_later(max(idle - silence, idle / 4), self._watch_idle)

    async def _close(self, reason: CloseReason) -> None:
        message = {"type": "websocket.close", "code": reason.code, "reason": reason.reason}
        with contextlib.suppress(
            OSError, TimeoutError
        ):  # the client has left, or reads not even this
            async with asyncio.timeout(_SECONDS_TO_CLOSE):
                await self._send(message)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        """End when a task fails: silently where the client has left while we sent."""
        if task.cancelled() or not (error := task.exception()) or self._end.done():
            return
        if isinstance(error, OSError):
            self._end.set_result(CloseReason())
            return
        _log.error("A WebSocket failed unexpectedly", key=self.caller.name, exc_info=error)
        self._end.set_result(CloseReason(1011, "internal error"))


def _bodies(message: Message) -> Sequence[bytes] | None:
    """Return the bytes of what was received, text or binary alike; None: the client has left."""
    if message["type"] != "websocket.receive":
        return None
    if "texts" in message:
        texts: list[bytes] = message["texts"]
        return texts
    text: str | None = message.get("text")
    return (message.get("bytes") or b"" if text is None else text.encode(),)


class WebSocketEndpoint:
    """Answers callers that are authenticated."""

    def __init__(
        self, rpc: Dispatcher, session_limits: SessionLimits, counters: Counters, keys: KeyRing
    ) -> None:
        """Pass messages to `rpc` within `session_limits`, while `keys` accepts their keys."""
        self._rpc = rpc
        self._limits = session_limits
        self._counters = counters
        self._keys = keys

    async def handle_websocket(
        self, scope: Scope, receive: Receive, send: Send, caller: ApiKey
    ) -> None:
        """Answer and push until the client leaves or is dropped."""
        await receive()
        offered = scope.get("subprotocols", ())
        subprotocol = next((each for each in offered if each in _SUBPROTOCOLS), None)
        await send({"type": "websocket.accept", "subprotocol": subprotocol})
        if MESSAGE_BATCHES not in scope.get("extensions", ()):
            send = _unbatched(send)
        session = WebSocketSession(receive, send, caller, self._limits)
        stop_following = self._follow_key(session)
        reason = CloseReason()
        try:
            reason = await session.run(self._rpc, self._counters)
        finally:
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


def _unbatched(send: Send) -> Send:
    """Send each message of a batch by itself, for servers that know no batches."""

    async def sending(message: Message) -> None:
        if "texts" not in message:
            await send(message)
            return
        for text in message["texts"]:
            await send({"type": message["type"], "text": text.decode()})

    return sending


async def refuse(scope: Scope, receive: Receive, send: Send, wait: int = 0) -> None:
    """Refuse a handshake with 401, or 429 where its address has to wait for `wait` seconds.

    A server without the extension for this answers 403.
    """
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    status, error = HTTPStatus.UNAUTHORIZED, INVALID_PROJECT_ID
    headers = [(b"content-type", b"application/json")]
    if wait:
        status, error = HTTPStatus.TOO_MANY_REQUESTS, RpcError.rate_exceeded(wait, None)
        headers.append((b"retry-after", b"%d" % wait))
    body = error_reply(NULL_ID, error)
    headers.append((b"content-length", b"%d" % len(body)))
    start = {"status": status.value, "headers": headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": body})
