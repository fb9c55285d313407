"""SQLite as the store needs it: durable writers that take turns, readers that never wait."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.connection import (
    DATABASE,
    Database,
    patience_of,
    store_in_use_error,
)
from dashboard.store.engine.disk import (
    DAMAGED,
    FULL,
    PRIMARY,
    find_corruption,
    is_full,
    make_file,
    make_folder,
    probe_space,
)
from dashboard.store.engine.lease_clock import BootMoment, boot_clock

_ANY_PAGE: Final = "PRAGMA user_version"
_BEGIN: Final = "BEGIN IMMEDIATE"
_IS_EXCLUSIVE: Final = "is exclusive"

_RETRY_AFTER: Final = 0.001
"""Seconds between two tries of a waiting writer. SQLite's own wait sleeps up to 0.1 s at a time,
and so misses most of the moments in which a busy process releases the lock."""

_LARGEST_LOG: Final = 64 * 1024 * 1024
"""Bytes that an empty log keeps on disk after it was larger."""

_PAGES_IN_LOG: Final = 4000
"""Pages in the log before a save moves them into the file, and waits for the disk.

The purge does so much earlier, and the worker every few seconds, so this is rare."""

_PAGES_OF_IDLER: Final = 100
"""The same for the purge. Its pages lie all over the file, and while they go to the disk, saves
wait for the disk as well: measured on a busy machine with a million rejections, 99 of 100 saves
took 1.3 times as long as without it, and 1.6 times with SQLite's own 1,000 pages."""


_READERS_KEPT: Final = 16
_READERS_CACHE: Final = "PRAGMA cache_size = -500"
"""Kilobytes of pages that a reader caches: 16 of them add up, and the system caches the file."""
_READERS_PATIENCE: Final = 20.0
"""Seconds; readers wait only while the file is recovered or created."""
_REMEDIES: Final = {
    sqlite3.SQLITE_BUSY: "another process has been writing for too long; try again",
    sqlite3.SQLITE_FULL: "free some space on its disk",
    sqlite3.SQLITE_IOERR: "check its disk",
    sqlite3.SQLITE_READONLY: "give this user the right to write it and its folder",
    sqlite3.SQLITE_PERM: "give this user the right to read and write it and its folder",
    sqlite3.SQLITE_CANTOPEN: "give this user the right to read and write it and its folder",
}
_SEARCH: Final = timedelta(seconds=1)
"""How long the file is searched for damage when SQLite reports some."""

_MAY_BE_FULL: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_WAYS_OUT: Final = (
    "stop what uses it, then run `linewatch restore FILE` with your newest backup; without one, "
    "keep a copy of the file and move it away to begin with an empty store"
)


def _prepare_to_write(*, is_synced: bool) -> Callable[[Any, object], None]:
    """Return what prepares a connection whose commits wait for the disk, or do not."""
    pragmas = (
        "foreign_keys = ON",
        "busy_timeout = 0",
        f"journal_size_limit = {_LARGEST_LOG}",
        f"synchronous = {'FULL' if is_synced else 'NORMAL'}",
        f"wal_autocheckpoint = {_PAGES_IN_LOG if is_synced else _PAGES_OF_IDLER}",
    )
    return lambda connection, _: _prepare(connection, *(f"PRAGMA {each}" for each in pragmas))


def let_read(engine: Engine) -> None:
    """Let connections of an engine read even a file whose disk is full.

    What the users of an open file share takes room beside it, so on a full disk the first to come
    cannot share. It then has the file to itself until it returns the connection.
    """
    event.listen(engine, "do_connect", _connect_to_read)
    event.listen(engine, "begin", _begin_deferred)
    event.listen(engine, "checkin", _leave_where_alone)


def connect_to_read(connect: Callable[[], Any], folder: Path) -> tuple[Any, bool]:
    """Connect for reading; return whether others are kept out until the connection is closed.

    Only a full disk in `folder` is a reason to keep them out: after another error of the disk the
    next try succeeds. Raises the driver's error if neither way works.
    """
    connection = connect()
    try:
        _prepare(connection)
        connection.execute(_ANY_PAGE)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & PRIMARY != sqlite3.SQLITE_IOERR or not is_full(folder):
            raise
        connection = connect()
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _prepare(connection)
        return connection, True
    return connection, False


def _connect_to_read(dialect: Any, record: Any, arguments: Any, options: Any) -> Any:  # noqa: ANN401 - SQLAlchemy names none of these
    connection, is_exclusive = connect_to_read(
        lambda: dialect.connect(*arguments, **options), Path(arguments[0]).parent
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute(_READERS_CACHE)
    record.info[_IS_EXCLUSIVE] = is_exclusive
    return connection


def _leave_where_alone(_connection: object, record: Any) -> None:  # noqa: ANN401 - likewise
    if record.info.pop(_IS_EXCLUSIVE, False):
        record.invalidate()


def _prepare(connection: Any, *pragmas: str) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    # Transactions begin where we say so and not where sqlite3 guesses.
    connection.isolation_level = None
    # In a new file two processes can block each other here, and SQLite then fails without a wait.
    _wait_to_run("PRAGMA journal_mode = WAL", connection, _READERS_PATIENCE)
    for pragma in pragmas:
        connection.execute(pragma)


def begin_immediate_within(seconds: float) -> Callable[[Connection], None]:
    """Begin when the other processes allow it, or fail with SQLite's own error after `seconds`."""

    def begin(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        own = patience_of(connection)
        with suppress(sqlite3.OperationalError):  # which is raised below as SQLAlchemy's own
            _wait_to_run(_BEGIN, driver, seconds if own is None else own.total_seconds())
        if not driver.in_transaction:
            connection.exec_driver_sql(_BEGIN)

    return begin


def _wait_to_run(statement: str, driver: sqlite3.Connection, seconds: float) -> None:
    """Run a statement once no other process keeps us out; SQLITE_BUSY if one does for `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            driver.execute(statement)
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & PRIMARY == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_AFTER)
        else:
            return


def prepare_exclusive(connection: Any, _record: object) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    connection.isolation_level = None
    for pragma in ("locking_mode = EXCLUSIVE", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
    # Leaving the log takes the one lock that every other connection stands in the way of.
    connection.execute("PRAGMA journal_mode = DELETE")


def begin_exclusive(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN EXCLUSIVE")


def _begin_deferred(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


class SqliteFile(Database):
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
        """Look for the file, since connecting would create it. StoreError for a folder."""
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

    def check_corruption(self, connection: Connection, longest: timedelta) -> None:
        """Find damage that shows at once, and what a read of at most `longest` shows."""
        driver: Any = connection.connection.driver_connection
        try:
            damage = find_corruption(driver, longest)
        except sqlite3.Error as error:
            raise self.unavailable(error) or StoreError(
                f"{self.name} cannot be read ({error})"
            ) from error
        if damage is not None:
            raise self.damaged(damage)

    def damaged(self, what: str) -> StoreError:
        return StoreError(f"{self.name} is damaged ({what}): {self.ways_out}")

    def prepare(self) -> None:
        """Create the folder of the file, closed to other users, if there is none."""
        folder = self.path.parent
        try:
            make_folder(folder)
        except OSError as error:
            raise StoreUnavailable(
                f"The folder {folder} of the store cannot be made ({error.strerror}): "
                "make it, or choose another with LINEWATCH_HOME"
            ) from error

    def create(self) -> None:
        """Create the file, closed to other users, if there is none."""
        self.prepare()
        try:
            make_file(self.path)
        except OSError as error:
            remedy = _REMEDIES[sqlite3.SQLITE_CANTOPEN]
            raise StoreUnavailable(
                f"{self.name} cannot be made ({error.strerror}): {remedy}"
            ) from error

    def writing_engine(
        self,
        patience: timedelta,
        longest_pause: timedelta = timedelta(),  # noqa: ARG002 - nobody can end another's write
        *,
        is_synced: bool = True,
        takes_turns: bool = True,  # noqa: ARG002 - a file has one writer at a time
    ) -> Engine:
        """Connect for writing: one transaction at a time per process, on disk when it commits.

        If it is not `is_synced`, a commit is in the log, and on disk with the next one that is.
        BEGIN IMMEDIATE takes the write lock at once, since a transaction that starts to write
        later fails where another has written in between, whatever the time-out.
        """
        seconds = patience.total_seconds()
        engine = create_engine(
            self._url,
            pool_size=1,
            max_overflow=0,
            pool_timeout=seconds,
            hide_parameters=True,  # an error would quote the password of a mail server
            connect_args={"timeout": seconds},
        )
        event.listen(engine, "connect", _prepare_to_write(is_synced=is_synced))
        event.listen(engine, "begin", begin_immediate_within(seconds))
        return engine

    def reading_engine(self) -> Engine:
        """Connect for reading: each transaction sees one moment and waits for nobody."""
        engine = create_engine(
            self._url,
            pool_size=_READERS_KEPT,
            max_overflow=-1,
            pool_use_lifo=True,  # the one whose cache is warm; 16 in turn would each fill theirs
            connect_args={"timeout": _READERS_PATIENCE},
        )
        let_read(engine)
        return engine

    @contextmanager
    def exclusive(self) -> Iterator[Connection]:
        """Keep all others out; this fails while a process has the file open.

        Afterwards everything that was written is in the file itself, none of it in a log.
        """
        engine = create_engine(self._url, poolclass=NullPool, connect_args={"timeout": 0})
        event.listen(engine, "connect", prepare_exclusive)
        event.listen(engine, "begin", begin_exclusive)
        with ExitStack() as opened:
            try:
                connection = opened.enter_context(engine.begin())
            except OperationalError as error:
                if getattr(error.orig, "sqlite_errorcode", 0) & PRIMARY == sqlite3.SQLITE_BUSY:
                    raise store_in_use_error(self.name) from error
                raise
            yield connection.execution_options(**{DATABASE: self})

    def checkpoint(self, connection: Connection) -> None:
        """Move the log into the file, and empty the log if nobody reads or writes.

        While a reader stays at one moment, the log grows; this makes it small again. Emptying it
        keeps writers out, so everything is moved before, which does not.
        """
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA busy_timeout = 0")  # or writers would wait for readers with us
        ((_, logged, moved),) = driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        if moved == logged:
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        driver.execute(f"PRAGMA busy_timeout = {_READERS_PATIENCE * 1000:.0f}")

    def use_autocommit(self, connection: sqlite3.Connection) -> None:
        """Do nothing: `isolation_level` is None already.

        StoreUnavailable for a connection that keeps all others out for as long as it lasts.
        """
        ((mode,),) = connection.execute("PRAGMA locking_mode").fetchall()
        if mode == "exclusive":
            raise StoreUnavailable(f"{self.name} cannot be used now: {FULL}")
        connection.execute("PRAGMA busy_timeout = 0")

    def now(self, connection: Connection) -> BootMoment:  # noqa: ARG002 - SQLite has no clock of its own
        """Return the time of this machine, since all processes of the store run on it."""
        return boot_clock()

    def check_space(self, connection: Connection) -> None:  # noqa: ARG002 - its disk says enough
        """Write a little beside the file and delete it again."""
        try:
            probe_space(self.path.parent)
        except OSError as error:
            trouble = f" ({error.strerror}): check its disk"
            if is_full(self.path.parent):
                trouble = f": {FULL}"
            raise StoreUnavailable(f"{self.name} cannot be used now{trouble}") from error

    def size(self, connection: Connection) -> int:
        """Count pages, without those that are only in the write-ahead log."""
        pages: int = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        page_size: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        return pages * page_size

    def unavailable(self, error: BaseException) -> StoreUnavailable | StoreError | None:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY
        if code in DAMAGED:
            return self._checked(error)
        if code in _MAY_BE_FULL and is_full(self.path.parent):
            return StoreUnavailable(f"{self.name} cannot be used now: {FULL}")
        if code in _REMEDIES:
            return StoreUnavailable(f"{self.name} cannot be used now ({error}): {_REMEDIES[code]}")
        return None

    def _checked(self, error: BaseException) -> StoreUnavailable | StoreError:
        """Report damage only if a check of the file finds some: a disk may fail only once."""
        try:
            address = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
                damage = find_corruption(connection, _SEARCH)
        except sqlite3.Error as trouble:
            damage, error = None, trouble
        if damage is not None:
            return self.damaged(damage)
        return StoreUnavailable(
            f"{self.name} cannot be used now ({error}): check its disk; "
            "`linewatch verify` says whether the store is damaged"
        )
