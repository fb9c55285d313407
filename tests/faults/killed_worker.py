"""A worker is killed while it polls and mails: nothing pending is lost, nothing sent twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from tests.builders import A_NETWORK
from tests.databases import new_store
from tests.faults.delivery_promises import (
    check_deliveries,
    check_mails_arrived,
    check_ticks,
    check_whole,
)
from tests.faults.rollup_checks import check_rollups
from tests.faults.rows import Chance, Play, Row
from tests.faults.worker_process import RECIPIENTS, WorkerSite, pause, worker_site
from tests.processes import Launcher, Process, launching
from tests.waiting import PATIENCE

_KILLS: Final = 10
_SIDES: Final = 2
"""One worker waits for the lease of the dead while the other is killed."""


@contextmanager
def _killing(folder: Path, database: str, kills: int) -> Iterator[Play]:
    """Kill the workers of new stores, side by side, until everybody is told everything."""
    numbers = count()
    with launching() as launcher, ThreadPoolExecutor(_SIDES) as sides:

        def play(chance: Chance) -> None:
            homes = [folder / f"{next(numbers)}" for _ in range(_SIDES)]
            with ExitStack() as stores:
                tasks = []
                for home in homes:
                    home.mkdir(parents=True)
                    url = stores.enter_context(new_store(database, home))
                    luck = Random(chance.random())  # noqa: S311 - faults must repeat
                    tasks.append((home, url, launcher, luck, chance.cases(kills // _SIDES)))
                list(sides.map(lambda each: _kill_again_and_again(*each), tasks))

        yield play


def _kill_again_and_again(
    home: Path, url: str, launcher: Launcher, chance: Random, kills: Iterable[int]
) -> None:
    with worker_site(home, url, launcher) as place:
        for _ in kills:
            _kill_once(place, chance)
        process = place.start()
        place.wait_until_quiet(process)
        assert process.terminate() == 0, process.last_lines()
        check_deliveries(place.found(), place.records, RECIPIENTS, place.post.taken)
        check_life(place, place.sent_before)


def _kill_once(place: WorkerSite, chance: Random) -> None:
    """Let a worker live for a while, with work to do, and kill it."""
    place.reject(chance, chance.randrange(1, 4))
    place.reject_again(chance)
    process = place.start()
    chance.choice(_MOMENTS)(place, process, chance)
    before = place.sent_before
    place.kill_and_release(process)
    check_life(place, before)


def check_life(place: WorkerSite, sent_before: AbstractSet[str]) -> None:
    """See after a life that the store is whole, and that nothing marked before was sent again."""
    check_whole(place.store)
    check_ticks(place.store)
    check_rollups(place.store, A_NETWORK)
    check_mails_arrived(place.found(), place.post.taken)
    now = place.post.life
    again = {each.message_id for each in place.post.taken if each.life == now} & sent_before
    assert not again, f"{len(again)} messages were marked as sent, and sent again"


def _while_starting(_place: WorkerSite, process: Process, chance: Random) -> None:
    process.ended.wait(chance.uniform(0, 0.3))


def _at_a_question(place: WorkerSite, process: Process, chance: Random) -> None:
    assert place.hosted.asked.wait(PATIENCE), f"the worker asks nothing: {process.last_lines()}"
    pause(chance.uniform(0, 0.05))


def _at_a_message(place: WorkerSite, process: Process, chance: Random) -> None:
    assert place.post.arrival.wait(PATIENCE), f"no message comes: {process.last_lines()}"
    pause(chance.uniform(0, 0.01))


def _at_work(place: WorkerSite, process: Process, chance: Random) -> None:
    assert place.hosted.asked.wait(PATIENCE), f"the worker asks nothing: {process.last_lines()}"
    pause(chance.uniform(0, 1.2))


_MOMENTS: Final[tuple[Callable[[WorkerSite, Process, Random], None], ...]] = (
    _while_starting,
    _at_a_question,
    _at_a_message,
    _at_a_message,
    _at_work,
)

KILLED_WORKER = Row(
    name="killed-worker",
    promise=(
        "`worker` is killed (-9) while it polls, stores and mails: every rejection is stored "
        "once and mailed to everybody, each tick is stored whole, roll-ups agree with the raw "
        "fees, and the store is intact. A message comes twice only if the kill fell between the"
        " server's acceptance and our record of it, and then with the same Message-ID"
    ),
    short=_KILLS,
    full=1_000,
    stage=lambda folder: _killing(folder, "sqlite", _KILLS),
    cases_per_play=_KILLS,
)

KILLED_WORKER_ON_POSTGRESQL = Row(
    name="killed-worker-on-postgresql",
    promise="as `killed-worker`, on PostgreSQL",
    short=4,
    full=200,
    stage=lambda folder: _killing(folder, "postgresql", 4),
    cases_per_play=4,
)
