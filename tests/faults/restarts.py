"""A worker restarts: what was notified is not notified again, what changed meanwhile is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

from sqlalchemy import or_, select

from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.store.schema import transitions
from tests.builders import GWEI
from tests.databases import new_store
from tests.faults.delivery_promises import check_deliveries, check_sent_once
from tests.faults.killed_worker import check_life
from tests.faults.rows import Chance, Play, Row
from tests.faults.worker_process import RECIPIENTS, WorkerSite, pause, worker_site
from tests.processes import launching
from tests.waiting import PATIENCE, eventually

_RESTARTS: Final = 2
"""Restarts of one store: with nothing changed, and after a change."""

_FEES: Final = {State.CALM: 10 * GWEI, State.BUSY: 90 * GWEI}


class _Restarted:
    """One worker after the other on one store; the network is busy and calm in turn."""

    def __init__(self, place: WorkerSite, chance: Random) -> None:
        """Let a first worker notify of a first rejection, and watch another transaction."""
        self._place, self._chance = place, chance
        self._state = chance.choice((State.CALM, State.BUSY))
        place.hosted.base_fee = _FEES[self._state]
        self._changes = int(self._state is State.BUSY)
        self._process = place.start()
        place.reject(chance, 1)
        self._tracked = place.track(chance, 1)
        self._settle()

    def restart_unchanged(self) -> None:
        """Restart with nothing changed, and see that nobody gets a mail."""
        before = list(self._place.post.taken)
        self._end()
        self._process = self._place.start()
        self._wait_for_rounds()
        assert self._place.post.taken == before, "somebody was notified though nothing changed"

    def restart_changed(self) -> None:
        """Let things change while no worker runs."""
        place, chance = self._place, self._chance
        self._tracked += place.track(chance, 1)
        self._settle()
        self._end()
        place.reject(chance, chance.randrange(3))
        place.reject_again(chance)
        place.reject_tracked(self._tracked.pop(), chance)
        if chance.random() < 0.5:
            self._state = State.CALM if self._state is State.BUSY else State.BUSY
            self._changes += 1
            place.hosted.base_fee = _FEES[self._state]
        self._process = place.start()
        self._settle()

    def end(self) -> None:
        """Stop the last worker, and check all that was promised."""
        self._end()
        check_life(self._place, frozenset())

    def _settle(self) -> None:
        """Wait until everything is mailed, and check it."""
        place = self._place
        eventually(lambda: len(self._noticed()) == self._changes, what=f"a change to {self._state}")
        place.wait_until_quiet(self._process)
        found = place.found()
        check_deliveries(found, place.records, RECIPIENTS, place.post.taken, self._noticed())
        check_sent_once(found, place.post.taken)

    def _noticed(self) -> list[UUID]:
        """Return the changes to busy, and from busy to calm."""
        column = transitions.c
        query = select(column.transition_id).where(
            column.kind == SubjectKind.BUSYNESS,
            or_(column.before == State.BUSY, column.after == State.BUSY),
        )
        with self._place.store.read() as connection:
            return list(connection.scalars(query))

    def _wait_for_rounds(self) -> None:
        """Give a new worker time to ask, conclude and deliver."""
        is_asking = self._place.hosted.asked.wait(PATIENCE)
        assert is_asking, f"the worker asks nothing: {self._process.last_lines()}"
        pause(self._chance.uniform(0.5, 2.5))

    def _end(self) -> None:
        """Stop the worker in good order, or kill it (-9) while it has nothing to do."""
        if self._chance.random() < 0.5:
            assert self._process.terminate() == 0, self._process.last_lines()
        else:
            self._place.kill_and_release(self._process)


@contextmanager
def _restarting(folder: Path) -> Iterator[Play]:
    """Restart workers on SQLite, and on PostgreSQL every second time."""
    numbers = count()
    with launching() as launcher:

        def play(chance: Chance) -> None:
            home = folder / str(next(numbers))
            home.mkdir()
            database = "postgresql" if chance.number % 2 else "sqlite"
            with new_store(database, home) as url, worker_site(home, url, launcher) as place:
                restarted = _Restarted(place, chance)
                for number in chance.cases(_RESTARTS):
                    restarted.restart_changed() if number % 2 else restarted.restart_unchanged()
                restarted.end()

        yield play


RESTARTS = Row(
    name="restarts",
    promise=(
        "`worker` is stopped or killed (-9) and started again, on SQLite and PostgreSQL: if "
        "nothing changed, nobody is notified again, even if a network is busy; what changed "
        "meanwhile notifies everybody once"
    ),
    short=2 * _RESTARTS,
    full=200,
    stage=_restarting,
    cases_per_play=_RESTARTS,
)
