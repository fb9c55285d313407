"""Workers are killed, restarted or out of disk: all is stored once and mailed to everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

from sqlalchemy import or_, select

from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.notification import Recipient
from dashboard.store.schema import transitions
from tests.builders import GWEI
from tests.faults.controlled_disk import ControlledDisk
from tests.faults.kill_points import points_of
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_faults import break_disk
from tests.faults.worker_process import Mailing, WorkerSite, worker_site
from tests.processes import Process, ProcessOptions
from tests.waiting import PATIENCE, eventually, pause

_POINTS: Final = (
    *points_of("a mark", "a claim", "new notifications", "a rejection", "fees"),
    *("message", "goodbye", "sender", "question", "answer"),
    *points_of("a lease", "a renewal"),
)
"""Those without a commit are what others see: the worker asks, is answered; it begins a message,
which is taken but not acknowledged, is acknowledged but not marked."""

_LEASE: Final = "4s"
"""It is renewed after a quarter of that, for which a life that ends at a renewal has to wait."""

_LIVES: Final = 12
_BREAKS: Final = 2


@contextmanager
def _dying_workers(home: Path, database: str = "sqlite") -> Iterator[WorkerSite]:
    """Yield a store whose workers die; at the end a last one does what is left."""
    with worker_site(home, database) as site:
        site.variables["LINEWATCH_WORKER_LEASE"] = _LEASE
        yield site
        site.finish()


def _kill(site: WorkerSite, chance: Chance) -> None:
    """Let a worker live for a while, with work to do, and kill it."""
    site.give_work(chance)
    process = site.start()
    chance.choice(_MOMENTS)(site, process, chance)
    site.kill_and_release(process)


def _die_at_point(site: WorkerSite, chance: Chance) -> None:
    """Let a worker with work to do die at the point whose turn it is."""
    point = _POINTS[chance.number % len(_POINTS)]
    site.give_work(chance)
    process = site.start_to_die(point)
    assert process.ended.wait(PATIENCE), f"no worker comes to {point}: {process.last_lines()}"
    assert process.code == -9, f"the worker ended with {process.code}: {process.last_lines()}"
    site.kill_and_release(process)


def _while_starting(_site: WorkerSite, process: Process, chance: Random) -> None:
    process.ended.wait(chance.uniform(0, 0.3))


def _at_a_message(site: WorkerSite, process: Process, chance: Random) -> None:
    assert site.post.arrival.wait(PATIENCE), f"no message comes: {process.last_lines()}"
    pause(chance.uniform(0, 0.01))


def _at_work(longest: float, site: WorkerSite, process: Process, chance: Random) -> None:
    assert site.hosted.asked.wait(PATIENCE), f"the worker asks nothing: {process.last_lines()}"
    pause(chance.uniform(0, longest))


_MOMENTS: Final[tuple[Callable[[WorkerSite, Process, Random], None], ...]] = (
    *(_while_starting, _at_a_message, _at_a_message),
    *(partial(_at_work, 0.05), partial(_at_work, 1.2)),
)


def _break_disk(site: WorkerSite, chance: Chance) -> None:
    """Let the disk of a worker fail while it has work; commands can still read."""
    with ControlledDisk(site.home) as disk:
        process = site.start(disk=disk.address)
        for _ in chance.cases(_BREAKS):
            site.hosted.asked.clear()
            site.post.arrival.clear()
            site.give_work(chance)
            awaited = chance.choice((site.hosted.asked, site.post.arrival))
            assert awaited.wait(PATIENCE), f"the worker does nothing: {process.last_lines()}"
            break_disk(disk, chance)
            eventually(lambda: bool(disk.refused), what="a write to the broken disk")
            _check_reading(site, disk)
            pause(chance.uniform(0, 1.0))
            disk.recover()
        site.finish(process)


def _check_reading(site: WorkerSite, disk: ControlledDisk) -> None:
    """Read with a command whose disk is broken as well."""
    log = site.home.parent / "reader.log"
    options = ProcessOptions(site.variables, log, {"disk": disk.address})
    reader = site.launcher.linewatch(["alerts", "--json"], options)
    assert reader.ended.wait(PATIENCE), "a command that reads never ends"
    assert reader.code == 0, f"reads fail on a broken disk: {reader.last_lines()}"


_TEN: Final = tuple(Recipient("mail", f"oncall{number}@example.org") for number in range(1, 11))
_REJECTED: Final = 8
_AGAIN: Final = 2
_NOTIFICATIONS: Final = (_REJECTED + _AGAIN) * len(_TEN)


def _mail_all(site: WorkerSite, chance: Chance) -> None:
    """Let a worker mail each change by itself, since each transaction has a label of its own."""
    process = site.start()
    site.reject(chance, _REJECTED)
    eventually(lambda: len(site.found().rejections) >= _AGAIN, what="a rejection that is stored")
    site.reject_again(chance, _AGAIN)
    site.reject(chance, _REJECTED + _AGAIN - len(site.records))  # on a slow machine all are old
    site.settle(process, once=True)
    assert process.terminate() == 0, process.last_lines()
    many = len(site.found().messages)
    assert many == _NOTIFICATIONS, f"{many} notifications"


_RESTARTS: Final = 2
"""Restarts of one store: with nothing changed, and after a change."""

_FEES: Final = {State.CALM: 10 * GWEI, State.BUSY: 90 * GWEI}


def _restart(home: Path, chance: Chance) -> None:
    """Restart workers on SQLite, and on PostgreSQL every second time."""
    database = "postgresql" if chance.number % 2 else "sqlite"
    with worker_site(home, database) as site:
        restarted = _Restarted(site, chance)
        for number in chance.cases(_RESTARTS):
            restarted.restart_changed() if number % 2 else restarted.restart_unchanged()
        restarted.end()


class _Restarted:
    """One worker after the other on one store; the network is busy and calm in turn."""

    def __init__(self, site: WorkerSite, chance: Random) -> None:
        """Let a first worker notify of a first rejection."""
        self._site, self._chance = site, chance
        self._state = chance.choice((State.CALM, State.BUSY))
        site.hosted.base_fee = _FEES[self._state]
        self._changes = int(self._state is State.BUSY)
        self._process = site.start()
        site.reject(chance, 1)
        self._settle()

    def restart_unchanged(self) -> None:
        """Restart with nothing changed, and see that nobody gets a mail."""
        before = list(self._site.post.taken)
        self.end()
        self._process = self._site.start()
        is_asking = self._site.hosted.asked.wait(PATIENCE)
        assert is_asking, f"the worker asks nothing: {self._process.last_lines()}"
        pause(self._chance.uniform(0.5, 2.5))  # time to ask, conclude and deliver
        assert self._site.post.taken == before, "somebody was notified though nothing changed"

    def restart_changed(self) -> None:
        """Let things change while no worker runs."""
        site, chance = self._site, self._chance
        (tracked,) = site.track(chance, 1)
        self._settle()
        self.end()
        site.reject(chance, chance.randrange(3))
        site.reject_again(chance)
        site.reject_tracked(tracked, chance)
        if chance.random() < 0.5:
            self._state = State.CALM if self._state is State.BUSY else State.BUSY
            self._changes += 1
            site.hosted.base_fee = _FEES[self._state]
        self._process = site.start()
        self._settle()

    def end(self) -> None:
        """Stop the worker in good order, or kill it (-9) while it has nothing to do."""
        if self._chance.random() < 0.5:
            assert self._process.terminate() == 0, self._process.last_lines()
        else:
            self._site.kill_and_release(self._process)

    def _settle(self) -> None:
        eventually(lambda: len(self._noticed()) == self._changes, what=f"a change to {self._state}")
        self._site.settle(self._process, self._noticed(), once=True)

    def _noticed(self) -> list[UUID]:
        """Return the changes to busy, and from busy to calm."""
        column = transitions.c
        query = select(column.transition_id).where(
            column.kind == SubjectKind.BUSYNESS,
            or_(column.before == State.BUSY, column.after == State.BUSY),
        )
        with self._site.store.read() as connection:
            return list(connection.scalars(query))


KILLED_WORKER = Row(
    name="killed-worker",
    promise=(
        "`worker` is killed while it polls, stores and mails: every rejection is stored once and "
        "mailed to everybody, *twice* only as below; each tick is stored whole, roll-ups agree "
        "with raw fees, and the store is intact"
    ),
    short=5,
    full=1_000,
    stage=playing(_dying_workers, _kill, _LIVES),
)
KILLED_AT_POINTS = Row(
    name="killed-at-points",
    promise=(
        "`worker` is killed before and after each commit, at each request and answer, and before,"
        " within and after each message: as `killed-worker`"
    ),
    short=_LIVES,  # those of one store: each commit, and a message
    full=50 * len(_POINTS),
    stage=playing(_dying_workers, _die_at_point, _LIVES),
)
KILLED_WORKER_ON_POSTGRESQL = Row(
    name="killed-worker-on-postgresql",
    promise="as `killed-worker`, on PostgreSQL",
    short=2,
    full=200,
    stage=playing(partial(_dying_workers, database="postgresql"), _kill, _LIVES),
)
KILLED_AT_POINTS_ON_POSTGRESQL = Row(
    name="killed-at-points-on-postgresql",
    promise="as `killed-at-points`, on PostgreSQL",
    short=4,
    full=20 * len(_POINTS),
    stage=playing(partial(_dying_workers, database="postgresql"), _die_at_point, _LIVES),
)
FAILING_DISK_WORKER = Row(
    name="failing-disk-of-worker",
    promise=(
        "the disk of `worker` fails likewise: it recovers, every rejection is stored and mailed "
        "once to everybody, each tick is stored whole, and commands can still read"
    ),
    short=_BREAKS,
    full=200,
    stage=playing(worker_site, _break_disk),
    cases_per_play=_BREAKS,
)
EVERY_NOTIFICATION = Row(
    name="every-notification",
    promise=(
        "nothing fails; `worker` mails each rejection and each change separately to ten "
        "recipients (the cap is raised): none is lost, none comes twice"
    ),
    short=_NOTIFICATIONS,
    full=100_000,
    stage=playing(
        lambda home: worker_site(home, mailing=Mailing(_TEN, group_by=(Dimension.LABEL,))),
        _mail_all,
    ),
    cases_per_play=_NOTIFICATIONS,
)
RESTARTS = Row(
    name="restarts",
    promise=(
        "`worker` is stopped or killed and started again, on both databases: nobody is notified "
        "again unless something changed, even if a network is busy; what changed meanwhile "
        "notifies everybody once"
    ),
    short=_RESTARTS,
    full=200,
    stage=playing(nullcontext, _restart),
    cases_per_play=_RESTARTS,
)
