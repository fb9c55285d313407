"""A worker is killed exactly before and after each of its commits, and around its messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from tests.databases import new_store
from tests.faults.delivery_promises import check_deliveries
from tests.faults.kill_points import points_of
from tests.faults.killed_worker import check_life
from tests.faults.rows import Chance, Play, Row
from tests.faults.worker_process import RECIPIENTS, WorkerSite, worker_site
from tests.processes import Launcher, launching
from tests.waiting import PATIENCE

_POINTS: Final = (
    *points_of(
        "a lease", "a renewal", "fees", "a rejection", "new notifications", "a claim", "a mark"
    ),
    *("question", "answer", "sender", "message", "goodbye"),
)
"""The last ones are those that others see: the worker asks, is answered; it begins a message, which
is taken but not acknowledged, is acknowledged but not marked."""

_LIVES_OF_A_STORE: Final = 12
_LEASE: Final = "4s"
"""It is renewed after a quarter of that, for which a life that ends at a renewal has to wait."""


class _Stage:
    """A store whose workers die, and afterwards another."""

    def __init__(self, folder: Path, database: str, launcher: Launcher) -> None:
        """Open nothing yet."""
        self._database = database
        self._folders = (folder / str(number) for number in count())
        self._launcher = launcher
        self._open = ExitStack()
        self._place: WorkerSite | None = None
        self._lives = 0

    def die_at(self, point: str, chance: Random) -> None:
        """Let a worker with work to do die at the point."""
        place = self._at_work()
        place.reject(chance, 1)
        place.reject_again(chance)
        process = place.start_to_die(point)
        assert process.ended.wait(PATIENCE), f"no worker comes to {point}: {process.last_lines()}"
        assert process.code == -9, f"the worker ended with {process.code}: {process.last_lines()}"
        before = place.sent_before
        place.kill_and_release(process)
        check_life(place, before)
        self._lives += 1
        if self._lives == _LIVES_OF_A_STORE:
            self.finish()

    def finish(self) -> None:
        """Let a last worker do what is left, and see that nothing is lost."""
        if self._place is not None:
            place, self._place, self._lives = self._place, None, 0
            with self._open:
                process = place.start()
                place.wait_until_quiet(process)
                assert process.terminate() == 0, process.last_lines()
                check_deliveries(place.found(), place.records, RECIPIENTS, place.post.taken)
                check_life(place, place.sent_before)

    def close(self) -> None:
        """Let go of the store that is under attack."""
        self._open.close()

    def _at_work(self) -> WorkerSite:
        if self._place is None:
            home = next(self._folders)
            home.mkdir(parents=True)
            url = self._open.enter_context(new_store(self._database, home))
            self._place = self._open.enter_context(worker_site(home, url, self._launcher))
            self._place.variables["LINEWATCH_WORKER_LEASE"] = _LEASE
        return self._place


@contextmanager
def _dying(folder: Path, database: str) -> Iterator[Play]:
    """Let workers die at each point in turn."""
    with launching() as launcher:
        stage = _Stage(folder, database, launcher)

        def play(chance: Chance) -> None:
            stage.die_at(_POINTS[chance.number % len(_POINTS)], chance)

        try:
            yield play
            stage.finish()
        finally:
            stage.close()


KILLED_AT_POINTS = Row(
    name="killed-at-points",
    promise=(
        "`worker` is killed (-9) before and after each of its commits, at each request and "
        "answer, and before, within and after each message: as `killed-worker`"
    ),
    short=len(_POINTS),
    full=50 * len(_POINTS),
    stage=lambda folder: _dying(folder, "sqlite"),
)

KILLED_AT_POINTS_ON_POSTGRESQL = Row(
    name="killed-at-points-on-postgresql",
    promise="as `killed-at-points`, on PostgreSQL",
    short=len(_POINTS),
    full=20 * len(_POINTS),
    stage=lambda folder: _dying(folder, "postgresql"),
)
