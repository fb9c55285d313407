"""The event loop of a role: woken once for all that a thread hands over, and never late."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from dashboard.wiring.event_loop import WokenOnceLoop


class CountingLoop(WokenOnceLoop):
    """Counts the writes that wake it."""

    writes = 0

    def _write_to_self(self) -> None:
        before = self._is_waking
        super()._write_to_self()
        self.writes += self._is_waking and not before


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=CountingLoop) as each:
        yield each


def test_thread_that_hands_over_much_wakes_the_loop_once(runner: asyncio.Runner) -> None:
    loop = runner.get_loop()
    assert isinstance(loop, CountingLoop)
    done: list[int] = []

    async def wait() -> None:
        loop.writes = 0
        for number in range(1_000):  # the loop is busy with this, as with any other thread's
            loop.call_soon_threadsafe(done.append, number)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    runner.run(wait())

    assert done == list(range(1_000))
    assert loop.writes == 1


def test_loop_that_waits_is_woken_for_each_that_comes_later(runner: asyncio.Runner) -> None:
    loop = runner.get_loop()
    turns = 200

    async def answer_all() -> float:
        asked: asyncio.Queue[threading.Event] = asyncio.Queue()

        def ask() -> None:
            for _ in range(turns):
                answered = threading.Event()
                loop.call_soon_threadsafe(asked.put_nowait, answered)
                assert answered.wait(10)

        askers = [asyncio.create_task(asyncio.to_thread(ask)) for _ in range(4)]
        begun = time.perf_counter()
        for _ in range(4 * turns):
            (await asyncio.wait_for(asked.get(), 10)).set()
        await asyncio.gather(*askers)
        return time.perf_counter() - begun

    runner.run(answer_all())  # a waking that is lost would end in a time-out
