"""Runs jobs on their periods; the only file that knows APScheduler."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from msgspec import Struct

from dashboard.errors import LinewatchError
from dashboard.logs import get_logger
from dashboard.poll.lease import Clocks, SetClock
from dashboard.tracing import tracing

_CHECK_CLOCK_EVERY: Final = 1.0
_log = get_logger("scheduler")


class Job(Struct, frozen=True):
    """Work to do every `period`, and once at the start."""

    name: str
    period: timedelta
    run: Callable[[], Awaitable[object]]


class Scheduler:
    """Runs jobs on the running loop.

    A job never overlaps itself, and runs that it missed become one. An error in a job is logged,
    and the job goes on.
    """

    def __init__(self, jobs: Sequence[Job], clocks: Clocks) -> None:
        self._jobs = tuple(jobs)
        self._set_clock = SetClock(clocks)
        self._running: set[asyncio.Task[None]] = set()
        self._next_check: asyncio.TimerHandle | None = None
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            logger=_quiet_logger(),
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )

    def start(self) -> None:
        """Run every job at once, and from now on."""
        for job in self._jobs:
            self._scheduler.add_job(
                self._run, _Every(job.period), (job,), id=job.name, next_run_time=_now()
            )
        self._scheduler.start()
        self._keep_checking()

    async def stop(self, grace: timedelta) -> None:
        """Begin no more runs, let running ones finish within `grace`, cancel the rest."""
        if self._next_check is not None:
            self._next_check.cancel()
        self._scheduler.pause()
        if self._running:
            await asyncio.wait(self._running, timeout=grace.total_seconds())
        unfinished = tuple(self._running)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished)
        self._scheduler.shutdown(wait=False)

    def check_clock(self) -> None:
        """Run every job at once if the time of day was set.

        APScheduler waits for times of day: if the clock was set back a week, it would sleep that
        long.
        """
        if by := self._set_clock.check():
            _log.warning("the clock was set", by=str(by))
            for job in self._jobs:
                self._scheduler.modify_job(job.name, next_run_time=_now())

    def _keep_checking(self) -> None:
        self.check_clock()
        loop = asyncio.get_running_loop()
        self._next_check = loop.call_later(_CHECK_CLOCK_EVERY, self._keep_checking)

    async def _run(self, job: Job) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        self._running.add(task)
        try:
            with tracing.span(job.name):
                await job.run()
        except LinewatchError as error:
            _log.warning("a job failed", job=job.name, why=str(error))
        except Exception:  # noqa: BLE001 - the top of a job: whatever it is, the next run comes
            _log.exception("a job failed unexpectedly", job=job.name)
        except asyncio.CancelledError:
            _log.warning("a job was cut short", job=job.name)  # by `stop`, who waits for its end
        finally:
            self._running.discard(task)


class _Every(BaseTrigger):  # type: ignore[misc] # APScheduler 3 has no types
    """Fires every `period`, but never again for times in the past.

    The interval trigger counts every missed run: after a jump of a week, for seconds.
    """

    def __init__(self, period: timedelta) -> None:
        self._period = period

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """Return the next beat after `previous`, or one period from now if that is past."""
        following = now if previous is None else previous + self._period
        return following if following > now else now + self._period


def _now() -> datetime:
    """Return the time of day as APScheduler itself reads it."""
    return datetime.now(UTC)


def _quiet_logger() -> logging.Logger:
    """Return a logger that logs nothing: a job that still runs need not be logged every second."""
    logger = logging.getLogger("linewatch.scheduler")
    logger.setLevel(logging.CRITICAL)
    return logger
