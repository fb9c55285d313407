"""A PostgreSQL server dies or refuses under a worker and serve: both go on by themselves."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from sqlalchemy.engine import make_url

from dashboard.store.engine.engine import open_store
from tests.faults.controlled_disk import ControlledDisk
from tests.faults.delivery_promises import check_deliveries, stored_deliveries
from tests.faults.killed_worker import check_life
from tests.faults.postgresql_server import OwnPostgreSQL
from tests.faults.reporters import Reports, SentReport, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import ServeHome, Server
from tests.faults.worker_process import RECIPIENTS, WorkerSite, pause, worker_site
from tests.processes import Process, launching
from tests.waiting import PATIENCE, eventually


@dataclass
class _Scene:
    """A server with two stores: a worker works on one, serve serves the other."""

    database: OwnPostgreSQL
    disk: ControlledDisk | None
    place: WorkerSite
    worker: Process
    serve: Server
    served_url: str
    reports: Reports = field(default_factory=Reports)
    sent: set[SentReport] = field(default_factory=set)
    acknowledged: set[SentReport] = field(default_factory=set)


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
    names = [make_url(url).database for url in (scene.served_url, scene.place.url)]
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


_DEATHS: Final = (_kill_backend, _end_sessions, _restart)
_REFUSALS: Final = (_refuse_writes, _refuse_connections, _fill_disk)


@contextmanager
def _failing(folder: Path, faults: tuple[Fault, ...]) -> Iterator[Play]:
    """Let one server fail again and again under one worker and one serve."""
    with ExitStack() as held:
        launcher = held.enter_context(launching())
        disk = held.enter_context(ControlledDisk(folder)) if _fill_disk in faults else None
        database = OwnPostgreSQL(folder, launcher, disk)
        url, served_url = database.new_store(), database.new_store()
        serve_home = ServeHome(folder / "serve_home", launcher, LINEWATCH_STORE_URL=served_url)
        (serve,) = serve_home.servers
        with worker_site(folder / "work", url, launcher) as place:
            serve.start()
            serve.wait_until_ready()
            scene = _Scene(database, disk, place, place.start(), serve, served_url)
            place.wait_until_at_work()  # without a store none begins
            yield lambda chance: _fail_once(scene, chance.choice(faults), chance)
            assert scene.worker.terminate() == 0, scene.worker.last_lines()
            assert serve.terminate() == 0, serve.last_lines()


def _fail_once(scene: _Scene, fault: Fault, chance: Random) -> None:
    place = scene.place
    with reporting([scene.serve.port], scene.reports, chance) as acknowledgements:
        assert acknowledgements.first.wait(PATIENCE), (
            f"nothing was acknowledged: {acknowledgements.refused[:1]}"
        )
        place.reject(chance, chance.randrange(1, 4))
        awaited = chance.choice((place.hosted.asked, place.post.arrival))
        awaited.clear()
        awaited.wait(1)
        fault(scene, chance)
        before = len(acknowledgements.acknowledged)
        eventually(lambda: len(acknowledgements.acknowledged) > before, what="a save afterwards")
    scene.sent |= acknowledgements.sent
    scene.acknowledged |= acknowledgements.acknowledged
    _check_served(scene)
    place.wait_until_quiet(scene.worker)
    check_deliveries(place.found(), place.records, RECIPIENTS, place.post.taken)
    check_life(place, frozenset())


def _check_served(scene: _Scene) -> None:
    """See that what serve acknowledged is there once, and nothing that nobody sent."""
    with open_store(scene.served_url) as store:
        found = [(str(each.tx_hash), each.reason) for each in stored_deliveries(store).rejections]
    stored = set(found)
    assert len(found) == len(stored), "a report is stored twice"
    lost = {(each.tx_hash, each.reason) for each in scene.acknowledged} - stored
    assert not lost, f"{len(lost)} acknowledged reports are lost, such as {min(lost)}"
    strange = stored - {(each.tx_hash, each.reason) for each in scene.sent}
    assert not strange, f"{len(strange)} stored reports were never sent, such as {min(strange)}"


KILLED_SERVER = Row(
    name="killed-server",
    promise=(
        "a process of PostgreSQL is killed (-9), all its sessions are ended, or the server is "
        "stopped at once and restarted, while `linewatch worker` and `linewatch serve` run: both "
        "recover by themselves, nothing acknowledged is lost, every rejection is stored once and "
        "mailed once"
    ),
    short=3,
    full=200,
    stage=lambda folder: _failing(folder, _DEATHS),
)

REFUSING_SERVER = Row(
    name="refusing-server",
    promise=(
        "PostgreSQL refuses writes or connections, or its disk is full, for a moment: the same as "
        "`killed-server`"
    ),
    short=3,
    full=200,
    stage=lambda folder: _failing(folder, _REFUSALS),
)
