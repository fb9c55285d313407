"""Jobs on their periods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import pytest

from dashboard.errors import StoreUnavailable
from dashboard.poll.scheduler import Job, Scheduler
from tests.fake_clock import FakeClock
from tests.waiting import PATIENCE

NEVER_AGAIN = timedelta(days=365)
AT_ONCE = timedelta(milliseconds=10)


class Counting:
    """Counts the runs of a job, and lets a test wait for one."""

    def __init__(self, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Have run never; `then` is what a run does after it was counted."""
        self.runs = 0
        self._then = then
        self._ran = asyncio.Event()

    async def run(self) -> None:
        self.runs += 1
        self._ran.set()
        if self._then is not None:
            await self._then()

    async def reaches(self, runs: int) -> None:
        """Wait until it has run so often."""
        with anyio.fail_after(PATIENCE):
            while self.runs < runs:
                self._ran.clear()
                await self._ran.wait()


@asynccontextmanager
async def scheduling(
    *jobs: Job, fake_clock: FakeClock | None = None, grace: timedelta = timedelta(seconds=PATIENCE)
) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(jobs, (fake_clock or FakeClock()).clocks)
    scheduler.start()
    try:
        yield scheduler
    finally:
        await scheduler.stop(grace)


async def fail_as_we_do() -> None:
    raise StoreUnavailable("the disk is full")


async def fail_as_nobody_expects() -> None:
    raise ZeroDivisionError


async def hang() -> None:
    await asyncio.Event().wait()


async def test_job_runs_at_once_and_not_after_its_first_period() -> None:
    work = Counting()

    async with scheduling(Job("work", NEVER_AGAIN, work.run)):
        await work.reaches(1)

    assert work.runs == 1


async def test_job_runs_again_every_period() -> None:
    work = Counting()

    async with scheduling(Job("work", AT_ONCE, work.run)):
        await work.reaches(4)


@pytest.mark.parametrize("trouble", [fail_as_we_do, fail_as_nobody_expects])
async def test_error_in_a_job_never_ends_it(trouble: Callable[[], Awaitable[None]]) -> None:
    work = Counting(trouble)

    async with scheduling(Job("work", AT_ONCE, work.run)):
        await work.reaches(3)


async def test_job_that_hangs_holds_up_no_other_and_never_overlaps_itself() -> None:
    hanging, other = Counting(hang), Counting()

    async with scheduling(
        Job("hanging", AT_ONCE, hanging.run), Job("other", AT_ONCE, other.run), grace=AT_ONCE
    ):
        await other.reaches(5)

    assert hanging.runs == 1


async def test_stopping_lets_a_run_under_way_finish() -> None:
    go_on, finished = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go_on.wait()
        finished.set()

    counting = Counting(work)
    async with scheduling(Job("work", NEVER_AGAIN, counting.run)):
        await counting.reaches(1)
        asyncio.get_running_loop().call_later(0.05, go_on.set)

    assert finished.is_set()


@pytest.mark.parametrize("jump", [timedelta(days=-7), timedelta(days=7)])
async def test_clock_that_is_set_strands_no_job(jump: timedelta) -> None:
    fake_clock, work = FakeClock(), Counting()

    async with scheduling(Job("work", NEVER_AGAIN, work.run), fake_clock=fake_clock) as scheduler:
        await work.reaches(1)
        fake_clock.set_clock(jump)
        scheduler.check_clock()
        await work.reaches(2)


async def test_clock_that_is_corrected_a_little_changes_nothing() -> None:
    fake_clock, work = FakeClock(), Counting()

    async with scheduling(Job("work", NEVER_AGAIN, work.run), fake_clock=fake_clock) as scheduler:
        await work.reaches(1)
        fake_clock.set_clock(timedelta(milliseconds=500))
        scheduler.check_clock()
        await anyio.lowlevel.checkpoint()

    assert work.runs == 1
