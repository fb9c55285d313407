"""SQLite as the store wants it: durable writers that take turns, readers that never wait."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.boot_clock import BootMoment, boot_clock
from dashboard.store.engine.connection import DATABASE
from dashboard.store.engine.corruption_check import DAMAGED, PRIMARY, damage_of
from dashboard.store.engine.disk import FULL, is_full, make_file, make_folder, take_room
from dashboard.store.engine.exclusive_access import in_use
from dashboard.store.engine.sqlite_connections import (
    begin_exclusive,
    begin_immediate_within,
    let_read,
    prepare_idler,
    prepare_to_be_alone,
    prepare_writer,
)

_READERS_KEPT: Final = 16
_READERS_PATIENCE: Final = 20.0
"""Seconds; readers only wait for the moments in which the file is recovered or created."""

_REMEDIES: Final = {
    sqlite3.SQLITE_BUSY: "somebody else has been writing for too long; try again",
    sqlite3.SQLITE_FULL: "free some space on its disk",
    sqlite3.SQLITE_IOERR: "look after its disk",
    sqlite3.SQLITE_READONLY: "give this user the right to write it and its folder",
    sqlite3.SQLITE_PERM: "give this user the right to read and write it and its folder",
    sqlite3.SQLITE_CANTOPEN: "give this user the right to read and write it and its folder",
}
_TELLING_FULL: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_WAYS_OUT: Final = (
    "stop what uses it, then run `linewatch restore FILE` with your newest backup; without one, "
    "keep a copy of the file and move it away to begin anew"
)


class SqliteFile:
    """A store in a file of this machine."""

    parameter = "?"
    is_near = True
    driver_error: type[Exception] = sqlite3.Error
    noun = "The store"
    ways_out = _WAYS_OUT

    def __init__(self, url: URL) -> None:
        """Refuse an address that names no file."""
        if not url.database or url.database == ":memory:":
            raise StoreError(
                "The store's url names no file, and a store in memory cannot be shared by the "
                "roles: give sqlite:////folder/linewatch.db"
            )
        self._url = url
        self.path = Path(url.database)
        self.name = f"{self.noun} {url.database}"

    def exists(self) -> bool:
        """Look for the file; to connect would create it. StoreError for a folder."""
        try:
            is_folder, is_there = self.path.is_dir(), self.path.exists()
        except OSError as error:
            remedy = _REMEDIES[sqlite3.SQLITE_CANTOPEN]
            raise StoreUnavailable(
                f"{self.name} cannot be used now ({error.strerror}): {remedy}"
            ) from error
        if is_folder:
            raise StoreError(
                f"{self.name} is a folder: name a file, such as {self.path}/linewatch.sqlite"
            )
        return is_there

    def identity(self) -> object:
        """Return which file the path leads to."""
        found = self.path.stat()
        return found.st_dev, found.st_ino

    def look_over(self, connection: Connection, longest: timedelta) -> None:
        """Find damage that shows at once, and what a read of at most `longest` shows."""
        driver: Any = connection.connection.driver_connection
        try:
            damage = damage_of(driver, longest)
        except sqlite3.Error as error:
            raise self.unavailable(error) or StoreError(
                f"{self.name} cannot be read ({error})"
            ) from error
        if damage is not None:
            raise self.damaged(damage)

    def damaged(self, what: str) -> StoreError:
        """Say damage with the ways out of it."""
        return StoreError(f"{self.name} is damaged ({what}): {self.ways_out}")

    def prepare(self) -> None:
        """Create the folder of the file, closed to other users, where there is none."""
        folder = self.path.parent
        try:
            make_folder(folder)
        except OSError as error:
            raise StoreUnavailable(
                f"The folder {folder} of the store cannot be made ({error.strerror}): "
                "make it, or choose another with LINEWATCH_HOME"
            ) from error

    def create(self) -> None:
        """Create the file, closed to other users, where there is none."""
        self.prepare()
        try:
            make_file(self.path)
        except OSError as error:
            remedy = _REMEDIES[sqlite3.SQLITE_CANTOPEN]
            raise StoreUnavailable(
                f"{self.name} cannot be made ({error.strerror}): {remedy}"
            ) from error

    def writing_engine(self, patience: timedelta, *, awaits_disk: bool = True) -> Engine:
        """Connect for writing: one transaction at a time per process, on disk when it commits.

        Where nobody `awaits_disk`, it is in the log then, and on disk with the next that is.
        BEGIN IMMEDIATE takes the write lock at once, since a transaction that starts to write
        later fails where another has written in between, whatever the time-out.
        """
        seconds = patience.total_seconds()
        engine = create_engine(
            self._url,
            pool_size=1,
            max_overflow=0,
            pool_timeout=seconds,
            connect_args={"timeout": seconds},
        )
        event.listen(engine, "connect", prepare_writer if awaits_disk else prepare_idler)
        event.listen(engine, "begin", begin_immediate_within(seconds))
        return engine

    def reading_engine(self) -> Engine:
        """Connect for reading: each transaction sees one moment and waits for nobody."""
        engine = create_engine(
            self._url,
            pool_size=_READERS_KEPT,
            max_overflow=-1,
            connect_args={"timeout": _READERS_PATIENCE},
        )
        let_read(engine)
        return engine

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Keep everybody else out; whoever has the file open holds a lock that stands in the way.

        Afterwards all that was written is in the file itself, none of it in a log.
        """
        engine = create_engine(self._url, poolclass=NullPool, connect_args={"timeout": 0})
        event.listen(engine, "connect", prepare_to_be_alone)
        event.listen(engine, "begin", begin_exclusive)
        with ExitStack() as opened:
            try:
                connection = opened.enter_context(engine.begin())
            except OperationalError as error:
                if getattr(error.orig, "sqlite_errorcode", 0) & PRIMARY == sqlite3.SQLITE_BUSY:
                    raise in_use(self.name) from error
                raise
            yield connection.execution_options(**{DATABASE: self})

    def checkpoint(self, connection: Connection) -> None:
        """Move what the log holds into the file, and empty the log where nobody reads or writes.

        While a reader stays with one moment, the log grows; this is what makes it small again.
        To empty it keeps writers out, so all is moved before, which does not.
        """
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA busy_timeout = 0")  # or writers would wait for readers with us
        ((_, logged, moved),) = driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        if moved == logged:
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        driver.execute(f"PRAGMA busy_timeout = {_READERS_PATIENCE * 1000:.0f}")

    def let_ask_singly(self, connection: sqlite3.Connection) -> None:
        """Do so: `isolation_level` is None already."""
        connection.execute("PRAGMA busy_timeout = 0")

    def now(self, connection: Connection) -> BootMoment:  # noqa: ARG002 - SQLite has no clock of its own
        """Return the time of this machine, since all processes of the store run on it."""
        return boot_clock()

    def check_room(self, connection: Connection) -> None:  # noqa: ARG002 - its disk says enough
        """Take some room beside the file and give it back."""
        try:
            take_room(self.path.parent)
        except OSError as error:
            trouble = f" ({error.strerror}): look after its disk"
            if is_full(self.path.parent):
                trouble = f": {FULL}"
            raise StoreUnavailable(f"{self.name} cannot be used now{trouble}") from error

    def size(self, connection: Connection) -> int:
        """Count pages; what stands in the write-ahead log only is not in it."""
        pages: int = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        page_size: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        return pages * page_size

    def unavailable(self, error: BaseException) -> StoreUnavailable | StoreError | None:
        """Read the error's code."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY
        if code == sqlite3.SQLITE_NOTADB:
            return self.damaged("the file is no SQLite database")
        if code in DAMAGED:
            return self.damaged(str(error))
        if code in _TELLING_FULL and is_full(self.path.parent):
            return StoreUnavailable(f"{self.name} cannot be used now: {FULL}")
        if code in _REMEDIES:
            return StoreUnavailable(f"{self.name} cannot be used now ({error}): {_REMEDIES[code]}")
        return None
