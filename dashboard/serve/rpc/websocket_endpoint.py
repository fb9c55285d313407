"""JSON-RPC over WebSocket: handshakes, and a conversation for each that is accepted."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import ApiKey, KeyRing
from dashboard.serve.rpc.dispatch import JsonRpc
from dashboard.serve.rpc.http_endpoint import INVALID_PROJECT_ID
from dashboard.serve.subscriptions.subscription import Terms
from dashboard.serve.transport.frames import BURSTS
from dashboard.wire.jsonrpc import NULL_ID, error_reply
from dashboard.wire.jsonrpc_errors import RpcFault

MOST_AT_ONCE: Final = 128
"""Messages that may wait to be answered in one go; the rest stays with the client."""

_CHUNK: Final = 65_536
_SECONDS_TO_CLOSE: Final = 1

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a conversation ends: a close code of RFC 6455, None where the client has left."""

    code: int | None = None
    reason: str = ""


class Conversation:
    """Reads, answers and pushes, each in a task of its own; it is the `Session` of its methods."""

    def __init__(self, receive: Receive, send: Send, caller: ApiKey, terms: Terms) -> None:
        """Talk to a client whose handshake was accepted; `send` knows the extension `BURSTS`."""
        self.caller = caller
        self.answered = 0
        self._receive = receive
        self._send = send
        self._terms = terms
        self._received: deque[bytes] = deque()
        self._size_received = 0
        self._has_left = False
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._pushes: deque[bytes] = deque()
        self._size_of_pushes = 0
        self._is_full = False
        self._pushed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._answering: list[Callable[[], None]] = []
        self._closing: list[Callable[[], None]] = []
        self._heard_at = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._end: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def push(self, text: bytes) -> bool:
        """Queue a message; see `Session`. An empty queue takes a message of any size."""
        if self._is_full or (self._pushes and self._size_of_pushes + len(text) > self._terms.queue):
            self._is_full = True
            self._has_room.clear()
            return False
        self._pushes.append(text)
        self._size_of_pushes += len(text)
        self._pushed.set()
        return True

    async def room(self) -> None:
        """Wait until the queue takes something."""
        await self._has_room.wait()

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the answers to the messages at hand were sent."""
        self._answering.append(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` at the end."""
        self._closing.append(callback)

    def end(self, code: int, reason: str) -> None:
        """Close the conversation as soon as possible."""
        if not self._end.done():
            self._end.set_result(Ending(code, reason))

    async def hold(self, rpc: JsonRpc, counters: Counters) -> Ending:
        """Talk until the client leaves, and all that it said is answered, or has to be dropped."""
        loop = asyncio.get_running_loop()
        self._heard_at = loop.time()
        works = (self._listen(), self._answer(rpc, counters), self._push_all())
        tasks = [loop.create_task(work) for work in works]
        for task in tasks:
            task.add_done_callback(self._note_failure)
        self._watch_idle()
        try:
            ending = await self._end
            if ending.code is not None:
                await self._close(ending)
            return ending
        finally:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for callback in self._closing:
                callback()

    async def _listen(self) -> None:
        largest = self._terms.largest_message
        while (bodies := _bodies(await self._receive())) is not None:
            size = sum(map(len, bodies))
            if size > largest and max(map(len, bodies)) > largest:
                self.end(1009, f"a message may hold {largest} bytes")
                return
            self._received.extend(bodies)
            self._size_received += size
            self._arrived.set()
            if len(self._received) >= MOST_AT_ONCE or self._size_received > largest:
                self._taken.clear()
                await self._taken.wait()
        self._has_left = True
        self._arrived.set()

    async def _answer(self, rpc: JsonRpc, counters: Counters) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            bodies = [*self._received]
            self._received.clear()
            self._size_received = 0
            self._taken.set()
            if bodies:
                self._heard_at = asyncio.get_running_loop().time()
                counters.messages += len(bodies)
                self.answered += len(bodies)
                await self._answer_these(bodies, rpc)
            elif self._has_left:
                break
            if self._has_left:
                self._arrived.set()
        if not self._end.done():
            self._end.set_result(Ending())

    async def _answer_these(self, bodies: Sequence[bytes], rpc: JsonRpc) -> None:
        while bodies:
            replies = await rpc.answer_all(bodies, self.caller, self)
            await self._send_all(reply for reply in replies if reply is not None)
            self._tell_answered()
            bodies = bodies[len(replies) :]

    def _tell_answered(self) -> None:
        waiting, self._answering = self._answering, []
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
                if self._is_full and self._size_of_pushes <= self._terms.queue // 2:
                    self._is_full = False
                    self._has_room.set()

    async def _send_all(self, texts: Iterable[bytes]) -> None:
        """Send messages; a client that does not take a chunk of them in time is dropped.

        Sending waits while the buffers down to the client are full.
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
                async with asyncio.timeout(self._terms.patience.total_seconds()):
                    await self._send({"type": "websocket.send", "texts": chunk})
        except TimeoutError:
            self.end(1008, "the client reads too slowly")
            await asyncio.Event().wait()  # until cancelled with the rest

    def _watch_idle(self) -> None:
        """Send a client away that says nothing and waits for nothing."""
        loop = asyncio.get_running_loop()
        idle = self._terms.idle.total_seconds()
        silence = loop.time() - self._heard_at
        if silence >= idle and not self._closing:
            self.end(1000, "nothing was asked for a long time")
        else:
            self._idle_timer = loop.call_later(max(idle - silence, idle / 4), self._watch_idle)

    async def _close(self, ending: Ending) -> None:
        message = {"type": "websocket.close", "code": ending.code, "reason": ending.reason}
        with contextlib.suppress(OSError, TimeoutError):  # it is gone, or takes not even this
            async with asyncio.timeout(_SECONDS_TO_CLOSE):
                await self._send(message)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        """End with the task that failed: silently where the client has left while we sent."""
        if task.cancelled() or not (error := task.exception()) or self._end.done():
            return
        if isinstance(error, OSError):
            self._end.set_result(Ending())
            return
        _log.error("A WebSocket failed unexpectedly", key=self.caller.name, exc_info=error)
        self._end.set_result(Ending(1011, "internal error"))


def _bodies(message: Message) -> Sequence[bytes] | None:
    """Return the bytes of what was received, text or binary alike; None: the client has left."""
    if message["type"] != "websocket.receive":
        return None
    if "texts" in message:
        texts: list[bytes] = message["texts"]
        return texts
    text: str | None = message.get("text")
    return (message.get("bytes") or b"" if text is None else text.encode(),)


_SUBPROTOCOLS: Final = ("jsonrpc", "json-rpc", "jsonrpc-2.0", "json-rpc-2.0")
"""What some clients offer and browsers then insist on; all of them mean what we speak."""

_POLICY: Final = 1008
"""RFC 6455 section 7.4.1: what was said is against our rules."""

_log = get_logger(__name__)


class RpcOverWebSocket:
    """Answers the messages of callers whose key was already checked."""

    def __init__(self, rpc: JsonRpc, terms: Terms, counters: Counters, keys: KeyRing) -> None:
        """Hand messages to `rpc`, with clients held to `terms`, while their keys are accepted."""
        self._rpc = rpc
        self._terms = terms
        self._counters = counters
        self._keys = keys

    async def converse(self, scope: Scope, receive: Receive, send: Send, caller: ApiKey) -> None:
        """Answer and push until the client leaves or has to."""
        await receive()
        offered = scope.get("subprotocols", ())
        spoken = next((each for each in offered if each in _SUBPROTOCOLS), None)
        await send({"type": "websocket.accept", "subprotocol": spoken})
        if BURSTS not in scope.get("extensions", ()):
            send = _one_by_one(send)
        conversation = Conversation(receive, send, caller, self._terms)
        forget = self._hold_to_key(conversation)
        ending = Ending()
        try:
            ending = await conversation.hold(self._rpc, self._counters)
        finally:
            forget()
            _log.info(
                "WebSocket ended",
                key=caller.name,
                messages=conversation.answered,
                reason=ending.reason,
            )

    def _hold_to_key(self, conversation: Conversation) -> Callable[[], None]:
        """Let what becomes of the key reach its conversation; return what ends that."""

        def look() -> None:
            before, caller = conversation.caller, self._keys.current(conversation.caller)
            if caller is None:
                conversation.end(_POLICY, "API key revoked")
            elif (caller.network_ids, caller.methods) != (before.network_ids, before.methods):
                # Subscriptions go on with what the key opened when they began.
                conversation.end(_POLICY, "the limits of the API key changed: connect again")
            else:
                conversation.caller = caller

        look()
        return self._keys.on_change(look)


def _one_by_one(send: Send) -> Send:
    """Send each message of a burst by itself, for servers that do not know of bursts."""

    async def sending(message: Message) -> None:
        if "texts" not in message:
            await send(message)
            return
        for text in message["texts"]:
            await send({"type": message["type"], "text": text.decode()})

    return sending


async def refuse(scope: Scope, receive: Receive, send: Send, wait: int = 0) -> None:
    """Refuse a handshake with 401, or 429 where its address has to wait for so many seconds.

    Where the server cannot say either, it says its own 403.
    """
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    status, fault = HTTPStatus.UNAUTHORIZED, INVALID_PROJECT_ID
    headers = [(b"content-type", b"application/json")]
    if wait:
        status, fault = HTTPStatus.TOO_MANY_REQUESTS, RpcFault.rate_exceeded(wait, None)
        headers.append((b"retry-after", b"%d" % wait))
    body = error_reply(NULL_ID, fault)
    headers.append((b"content-length", b"%d" % len(body)))
    start = {"status": status.value, "headers": headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": body})
