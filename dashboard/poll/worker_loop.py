"""The product in twenty lines: while the lease is ours, poll every network and deliver."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

from anyio.to_thread import run_sync

from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.poll.jobs import PollingWorker, jobs_of
from dashboard.poll.lease import Lease, Term
from dashboard.poll.scheduler import Scheduler

GRACE: Final = timedelta(seconds=4)
"""How long a running job may take when the worker is asked to stop."""

_log = get_logger("watch")


async def run_polling_worker(watcher: PollingWorker, stop: asyncio.Event) -> None:
    """Stand by until the lease is ours, work until it is lost, and so on until `stop`."""
    while (term := await _stand_by(watcher, stop)) is not None:
        _log.info("this worker is active", token=term.token)
        over = asyncio.Event()
        scheduler = Scheduler(jobs_of(watcher, term, over), watcher.clocks)
        scheduler.start()
        await _first_of(stop, over)
        over.set()
        await scheduler.stop(GRACE)
        await run_sync(_leave, watcher, term)


async def _stand_by(watcher: PollingWorker, stop: asyncio.Event) -> Term | None:
    """Return the term that begins when the lease is free; None once asked to stop."""
    announced: str | None = None
    while not stop.is_set():
        try:
            term = await run_sync(watcher.lease.acquire)
            if term is None:
                announced = await run_sync(_announce, watcher.lease, announced)
        except StoreError as error:
            _log.warning("the lease cannot be asked for", why=str(error))
            term = None
        if term is not None:
            return term
        await _wait(stop, watcher.lease.duration / 4)
    return None


def _announce(lease: Lease, announced: str | None) -> str | None:
    """Say for whom this worker stands by, unless that was `announced`; return who it is."""
    holder = lease.current_holder()
    if holder not in {None, announced}:
        _log.info(
            "this worker stands by: another one is active",
            at_work=holder,
            takes_over="as soon as that one stops, or when its lease expires: "
            f"{lease.duration.total_seconds():g} s after its last renewal",
        )
    return holder or announced


def _leave(watcher: PollingWorker, term: Term) -> None:
    """Finish messages under way, then let a standby take over."""
    try:
        watcher.delivery.finish(GRACE / 2)
        watcher.lease.release(term)
    except StoreError as error:
        _log.warning("the lease could not be released; it expires on its own", why=str(error))


async def _wait(stop: asyncio.Event, longest: timedelta) -> None:
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([waiting], timeout=longest.total_seconds())
    waiting.cancel()


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
