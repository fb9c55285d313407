"""A PostgreSQL server that is killed, or refuses, under a worker and serve."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from sqlalchemy.engine import make_url

from tests.faults.controlled_disk import ControlledDisk
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_faults import ServeSite, serve_site
from tests.faults.worker_process import WorkerSite, worker_site_on
from tests.own_postgresql import OwnPostgreSQL
from tests.processes import Process, launching
from tests.waiting import eventually, pause


@dataclass
class _Scene:
    """A server with two stores: a worker works on one, serve serves the other."""

    database: OwnPostgreSQL
    disk: ControlledDisk | None
    work: WorkerSite
    worker: Process
    served: ServeSite


Fault: TypeAlias = Callable[[_Scene, Random], None]
"""Let the server fail for a moment; afterwards it works again."""


def _kill_backend(scene: _Scene, chance: Random) -> None:
    scene.database.kill_backend(chance)


def _end_sessions(scene: _Scene, _chance: Random) -> None:
    scene.database.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'linewatch'"
    )


def _restart(scene: _Scene, chance: Random) -> None:
    scene.database.stop()
    pause(chance.uniform(0, 1))
    scene.database.start()


def _refuse_writes(scene: _Scene, chance: Random) -> None:
    scene.database.ask("ALTER SYSTEM SET default_transaction_read_only = on")
    scene.database.ask("SELECT pg_reload_conf()")
    pause(chance.uniform(0.1, 1))
    scene.database.ask("ALTER SYSTEM RESET default_transaction_read_only")
    scene.database.ask("SELECT pg_reload_conf()")


def _refuse_connections(scene: _Scene, chance: Random) -> None:
    """Let nobody in any more, as a server that is full of connections."""
    names = [make_url(url).database for url in (scene.served.home.url, scene.work.url)]
    for name in names:
        scene.database.ask(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    _end_sessions(scene, chance)
    pause(chance.uniform(0.1, 1))
    for name in names:
        scene.database.ask(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def _fill_disk(scene: _Scene, chance: Random) -> None:
    """Have no room for anything but the log of writes, which has its room beforehand."""
    assert scene.disk is not None
    scene.disk.fail(errno.ENOSPC, chance.choice((1.0, 0.3)), chance, below="data/base")
    refused = scene.disk.refused
    eventually(lambda: bool(refused), what="a write for which there is no room")
    pause(chance.uniform(0.1, 1))
    scene.disk.recover()


_DEATHS: Final = (_kill_backend, _restart, _end_sessions)
_REFUSALS: Final = (_refuse_writes, _refuse_connections, _fill_disk)


@contextmanager
def _scene(home: Path, *, has_disk: bool = False) -> Iterator[_Scene]:
    """Yield one server under one worker and one serve."""
    with ExitStack() as held:
        launcher = held.enter_context(launching())
        disk = held.enter_context(ControlledDisk(home)) if has_disk else None
        database = OwnPostgreSQL(home, launcher, disk)
        url, served_url = database.new_store(), database.new_store()
        work = held.enter_context(worker_site_on(home / "work", url))
        # Ends first, while the server runs.
        served = held.enter_context(serve_site(home / "served", LINEWATCH_STORE_URL=served_url))
        served.start()
        scene = _Scene(database, disk, work, work.start(), served)
        work.wait_until_at_work()  # without a store none begins
        yield scene
        assert scene.worker.terminate() == 0, scene.worker.last_lines()
        assert served.home.servers[0].terminate() == 0, served.home.servers[0].last_lines()


def _fail_once(faults: tuple[Fault, ...], scene: _Scene, chance: Chance) -> None:
    work = scene.work
    with scene.served.under_load(chance, refusals=None) as load:
        work.reject(chance, chance.randrange(1, 4))
        awaited = chance.choice((work.hosted.asked, work.post.arrival))
        awaited.clear()
        awaited.wait(1)
        faults[chance.number % len(faults)](scene, chance)
        load.wait_for_another()
    work.settle(scene.worker)


KILLED_SERVER = Row(
    name="killed-server",
    promise=(
        "PostgreSQL loses a process (killed) or its sessions, or is restarted, while `worker` and"
        " `serve` run: both recover, nothing acknowledged is lost, every rejection is stored and "
        "mailed once"
    ),
    short=2,  # sessions are ended where connections are refused
    full=200,
    stage=playing(_scene, partial(_fail_once, _DEATHS), lives=200),
)

REFUSING_SERVER = Row(
    name="refusing-server",
    promise=(
        "PostgreSQL refuses writes or connections, or its disk is full, for a moment: as "
        "`killed-server`"
    ),
    short=3,
    full=200,
    stage=playing(partial(_scene, has_disk=True), partial(_fail_once, _REFUSALS), lives=200),
)
