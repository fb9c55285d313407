"""One WebSocket: what was received is answered in its order, and news is pushed in between."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.types import Message, Receive, Send

from dashboard.logs import get_logger
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import JsonRpc
from dashboard.serve.subscriptions.session import Terms

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
