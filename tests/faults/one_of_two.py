"""Two of each role on PostgreSQL with a replica: one is killed, people reload once at most."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from anyio.from_thread import BlockingPortal, start_blocking_portal
from websockets.exceptions import ConnectionClosed

from dashboard.store.engine.leases import WORKER_LEASE, holder
from tests.bench.page_session import PageSession, open_page
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_faults import ServeSite, serve_site
from tests.faults.worker_process import WorkerSite, worker_site_on
from tests.installation import answers, free_ports
from tests.own_postgresql import OwnPostgreSQL
from tests.processes import Process, ProcessOptions, launching
from tests.waiting import eventually, pause

_LEASE: Final = "4s"
_UNREADABLE: Final = "cannot be used now"
"""What a page says of a store that does not answer."""


class _Pages:
    """A process that serves the pages of a site on one port."""

    def __init__(self, site: WorkerSite, read_url: str) -> None:
        (self._port,) = free_ports(1)
        self._site = site
        self._variables = {
            **site.variables,
            "LINEWATCH_PAGES_PORT": str(self._port),
            "LINEWATCH_STORE_READ_URL": read_url,
        }
        self.address = f"http://127.0.0.1:{self._port}"
        self.process: Process
        self.start()

    def start(self) -> None:
        """Start, and wait until they are served."""
        log = self._site.home / f"pages-{self._port}.log"
        options = ProcessOptions(self._variables, log)
        self.process = self._site.launcher.linewatch(["pages"], options)
        eventually(self._answers, what=f"the pages ({self.process.last_lines()})")

    def _answers(self) -> bool:
        assert not self.process.ended.is_set(), self.process.last_lines()
        return answers(f"{self.address}/_stcore/health")


@dataclass
class _Person:
    """Somebody who has a page open, and reloads it `reloads` times since the last fault."""

    portal: BlockingPortal
    pages: Sequence[_Pages]
    reloads: int = 0
    _held: ExitStack = field(default_factory=ExitStack)
    _page: PageSession | None = None

    def look(self) -> str:
        """Return what the page says; where it is gone or cannot be read, after a reload."""
        try:
            said = self._run()
        except ConnectionClosed:
            said = _UNREADABLE
        if _UNREADABLE in said:
            self.reloads += 1
            self.close()
            said = self._run()
        return said

    def sees(self, words: str) -> bool:
        """Whether the page says these words."""
        return words in self.look()

    def close(self) -> None:
        self._page = None
        with ExitStack() as held:
            held.push(self._held.pop_all())

    def _run(self) -> str:
        if self._page is None:
            address = next(each.address for each in self.pages if not each.process.ended.is_set())
            opening = self.portal.wrap_async_context_manager(open_page(f"{address}/tracked"))
            self._page = self._held.enter_context(opening)
        self.portal.call(self._page.run)
        return " ".join(self._page.texts)


@dataclass
class _Scene:
    """Two workers and two pages on one store, two serves on another, and a replica of both."""

    replica: OwnPostgreSQL
    work: WorkerSite
    served: ServeSite
    pages: list[_Pages]
    people: list[_Person]
    workers: list[Process] = field(default_factory=list)

    def start(self) -> None:
        """Start what does not run."""
        self.workers = [each for each in self.workers if not each.ended.is_set()]
        while len(self.workers) < 2:
            self.workers.append(self.work.start())
        self.work.wait_until_at_work()
        self.served.start()
        for each in self.pages:
            if each.process.ended.is_set():
                each.start()
        if self.replica.process.ended.is_set():
            self.replica.start()

    def worker(self, *, is_active: bool) -> Process:
        """Return the worker that has the lease, or the one that stands by."""
        with self.work.store.read() as connection:
            active = holder(connection, WORKER_LEASE)
        assert active is not None
        pid = int(active.name.split("/")[1])
        return next(each for each in self.workers if (each.pid == pid) is is_active)

    def check_pages(self) -> None:
        """See that all pages show what was rejected last."""
        label = str(self.work.records[-1].tx_hash)[:14]
        for each in self.people:
            eventually(partial(each.sees, label), what=f"{label} on a page")


Fault: TypeAlias = Callable[[_Scene, Random], None]


def _kill_worker(scene: _Scene, _chance: Random, *, is_active: bool) -> None:
    scene.worker(is_active=is_active).kill()


def _kill_serve(scene: _Scene, chance: Random) -> None:
    chance.choice(scene.served.home.servers).kill()


def _kill_pages(scene: _Scene, _chance: Random, *, place: int) -> None:
    scene.pages[place].process.kill()


def _kill_replica(scene: _Scene, chance: Random) -> None:
    """Kill a process that answers, after which the server restarts all, or end the server."""
    if chance.random() < 0.5:
        scene.replica.kill_backend(chance)
    else:
        scene.replica.stop(signal.SIGQUIT)


_FAULTS: Final[tuple[Fault, ...]] = (
    partial(_kill_pages, place=0),
    partial(_kill_worker, is_active=True),
    _kill_replica,
    _kill_serve,
    partial(_kill_pages, place=1),
    partial(_kill_worker, is_active=False),
)


def _kill_one(scene: _Scene, chance: Chance) -> None:
    """Kill one while there is work: the others go on, and nothing is lost."""
    scene.start()
    for each in scene.people:
        each.look()
        each.reloads = 0
    with scene.served.under_load(chance) as load:
        scene.work.reject(chance, chance.randrange(1, 4))
        pause(chance.uniform(0, 0.5))
        _FAULTS[chance.number % len(_FAULTS)](scene, chance)
        load.wait_for_another()
        said = [each.look() for each in scene.people]
        assert not any(_UNREADABLE in each for each in said), "a page stays unreadable"
    alive = next(each for each in scene.workers if not each.ended.is_set())
    scene.work.settle(alive)
    scene.check_pages()
    reloads = [each.reloads for each in scene.people]
    assert max(reloads) <= 1, f"people had to reload {reloads} times"


@contextmanager
def _scene(home: Path) -> Iterator[_Scene]:
    with ExitStack() as held:
        launcher = held.enter_context(launching())
        primary = OwnPostgreSQL(home / "primary", launcher)
        url, served_url = primary.new_store(), primary.new_store()
        replica = OwnPostgreSQL(home / "replica", launcher, primary=primary)
        read_url, served_read_url = (
            each.replace(primary.sockets, replica.sockets) for each in (url, served_url)
        )
        work = held.enter_context(worker_site_on(home / "work", url))
        work.variables["LINEWATCH_WORKER_LEASE"] = _LEASE
        variables = {
            "LINEWATCH_STORE_URL": served_url,
            "LINEWATCH_STORE_READ_URL": served_read_url,
        }
        served = held.enter_context(serve_site(home / "served", doors=2, **variables))
        pages = [_Pages(work, read_url) for _ in range(2)]
        portal = held.enter_context(start_blocking_portal())
        people = [_Person(portal, pages), _Person(portal, pages[::-1])]
        for each in people:
            held.callback(each.close)
        scene = _Scene(replica, work, served, pages, people)
        yield scene
        scene.start()  # the site of serve checks at its end that both answer
        for process in (*scene.workers, *(each.process for each in pages)):
            assert process.terminate() == 0, process.last_lines()


ONE_OF_TWO = Row(
    name="one-of-two",
    promise=(
        "of two `worker`, two `serve` and two `pages` on PostgreSQL with a replica, one is "
        "killed, or the replica: the others go on, people reload a page once at most, nothing "
        "acknowledged is lost, every rejection is stored once and mailed to everybody"
    ),
    short=len(_FAULTS),
    full=20 * len(_FAULTS),
    stage=playing(_scene, _kill_one, lives=10 * len(_FAULTS)),
)
