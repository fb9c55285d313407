"""The event loop of a role: woken once for all that a thread hands over, and never late."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from dashboard.transport.event_loop import RestingLoop, WokenOnceLoop
from tests.waiting import PATIENCE


class CountingLoop(WokenOnceLoop):
    """Counts the writes that wake it."""

    writes = 0

    def _write_to_self(self) -> None:
        before = self._is_waking
        super()._write_to_self()
        self.writes += self._is_waking and not before


class CountingRestingLoop(CountingLoop, RestingLoop):
    """Counts those of a loop that rests."""


@pytest.fixture(params=[CountingLoop, CountingRestingLoop])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as each:
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
                assert answered.wait(PATIENCE)

        askers = [asyncio.create_task(asyncio.to_thread(ask)) for _ in range(4)]
        begun = time.perf_counter()
        for _ in range(4 * turns):
            (await asyncio.wait_for(asked.get(), PATIENCE)).set()
        await asyncio.gather(*askers)
        return time.perf_counter() - begun

    runner.run(answer_all())  # a waking that is lost would end in a time-out


def test_loop_that_was_woken_rests_and_then_runs_what_came_meanwhile() -> None:
    async def hand_over() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingRestingLoop)
        loop.rest = 1.0
        done: list[int] = []
        last = asyncio.Event()

        def work() -> None:
            for number in range(10):
                loop.call_soon_threadsafe(done.append, number)
                threading.Event().wait(0.001)
            loop.call_soon_threadsafe(last.set)

        loop.writes = 0
        worker = threading.Thread(target=work)
        worker.start()
        await asyncio.wait_for(last.wait(), PATIENCE)
        worker.join()
        return len(done), loop.writes

    with asyncio.Runner(loop_factory=CountingRestingLoop) as each:
        done, writes = each.run(hand_over())

    assert done == 10
    assert writes <= 3
