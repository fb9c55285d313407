"""A session that ends while a thread still answers it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint
from starlette.types import Message

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.dependencies import ServeLimits
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.serve.rpc.dispatch import Dispatcher
from dashboard.serve.rpc.websocket_endpoint import WebSocketSession
from dashboard.serve.subscriptions import Session
from tests.waiting import PATIENCE, eventually_async


class SlowDispatcher(Dispatcher):
    """Answers in its one thread, when that is allowed."""

    def __init__(self) -> None:
        super().__init__({}, KeyLimiter(), Counters(), 1)
        self.thread = CapacityLimiter(1)
        self.may_answer = threading.Event()

    async def answer_all(
        self,
        bodies: Sequence[bytes],
        caller: ApiKey,  # noqa: ARG002 - as every dispatcher takes it
        session: Session | None = None,  # noqa: ARG002 - likewise
    ) -> list[bytes | None]:
        """Answer nothing to each."""
        await to_thread.run_sync(self.may_answer.wait, PATIENCE, limiter=self.thread)
        return [None for _ in bodies]


async def test_ended_session_is_over_when_its_thread_is() -> None:
    messages: asyncio.Queue[Message] = asyncio.Queue()
    messages.put_nowait({"type": "websocket.receive", "text": "{}"})
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    rpc, caller = SlowDispatcher(), ApiKey.of("tests", Secret("key"))
    session = WebSocketSession(messages.get, send, caller, ServeLimits(), lambda: None)
    running = asyncio.create_task(session.run(rpc, Counters()))
    await eventually_async(lambda: rpc.thread.borrowed_tokens == 1, what="the thread")
    session.end(1008, "the client reads too slowly")
    await eventually_async(lambda: bool(sent), what="the close")
    for _ in range(20):
        await checkpoint()
    in_use = rpc.thread.borrowed_tokens
    rpc.may_answer.set()

    assert (await running).code == 1008
    assert (in_use, rpc.thread.borrowed_tokens) == (1, 0)
