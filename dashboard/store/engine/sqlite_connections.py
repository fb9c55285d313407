"""How connections to a SQLite file begin: what each is for decides what it is told first."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, Engine, event

from dashboard.store.engine.corruption_check import PRIMARY

_ANY_PAGE: Final = "PRAGMA user_version"
_IS_ALONE: Final = "is alone"

_LOOK_AGAIN: Final = 0.001
"""Seconds between two tries of a waiting writer. SQLite's own wait sleeps up to 0.1 s at a time,
and so misses most of the moments in which a busy process lets go of the lock."""

_LARGEST_LOG: Final = 64 * 1024 * 1024
"""Bytes that an empty log keeps on disk after it was larger."""

_PAGES_IN_LOG: Final = 4000
"""How many pages the log holds before who saves moves them into the file, and waits for the disk.
Who forgets does so much earlier, and the worker every few seconds, so that this is seldom."""

_PAGES_OF_IDLER: Final = 100
"""The same for who forgets. Its pages lie all over the file, and while they go to the disk, saves
wait for the disk as well: measured on a busy machine with a million rejections, 99 of 100 saves
took 1.3 times as long as without it, and 1.6 times with SQLite's own 1,000 pages."""


def prepare_writer(connection: Any, _record: object) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    _prepare_to_write(connection, "synchronous = FULL", f"wal_autocheckpoint = {_PAGES_IN_LOG}")


def prepare_idler(connection: Any, _record: object) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    _prepare_to_write(connection, "synchronous = NORMAL", f"wal_autocheckpoint = {_PAGES_OF_IDLER}")


def _prepare_to_write(connection: Any, *more: str) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    pragmas = (
        "foreign_keys = ON",
        "busy_timeout = 0",
        f"journal_size_limit = {_LARGEST_LOG}",
        *more,
    )
    _prepare(connection, *(f"PRAGMA {pragma}" for pragma in pragmas))


def let_read(engine: Engine) -> None:
    """Let connections of an engine read, also a file whose disk is full.

    What all who have a file open share takes room beside it, so on a full disk the first to come
    cannot share. It has the file to itself then, until it gives the connection back.
    """
    event.listen(engine, "do_connect", _connect_to_read)
    event.listen(engine, "begin", _begin_deferred)
    event.listen(engine, "checkin", _leave_where_alone)


def connect_to_read(connect: Callable[[], Any]) -> tuple[Any, bool]:
    """Connect so that the file can be read; tell whether this keeps others out until it is closed.

    Raises the driver's error where neither way works.
    """
    connection = connect()
    try:
        _prepare(connection)
        connection.execute(_ANY_PAGE)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & PRIMARY != sqlite3.SQLITE_IOERR:
            raise
        connection = connect()
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _prepare(connection)
        return connection, True
    return connection, False


def _connect_to_read(dialect: Any, record: Any, arguments: Any, options: Any) -> Any:  # noqa: ANN401 - SQLAlchemy names none of these
    connection, is_alone = connect_to_read(lambda: dialect.connect(*arguments, **options))
    connection.execute("PRAGMA query_only = ON")
    record.info[_IS_ALONE] = is_alone
    return connection


def _leave_where_alone(_connection: object, record: Any) -> None:  # noqa: ANN401 - likewise
    if record.info.pop(_IS_ALONE, False):
        record.invalidate()


def _prepare(connection: Any, *pragmas: str) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    # Transactions begin where we say so and not where sqlite3 guesses.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    for pragma in pragmas:
        connection.execute(pragma)


def begin_immediate_within(seconds: float) -> Callable[[Connection], None]:
    """Begin when the other processes let us, or fail with SQLite's own error after `seconds`."""

    def begin(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        deadline = time.monotonic() + seconds
        while _is_locked_out(driver):
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOK_AGAIN)
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return begin


def _is_locked_out(driver: sqlite3.Connection) -> bool:
    """Try to begin; whether another process writes now. Any other trouble shows later again."""
    try:
        driver.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    return False


def prepare_to_be_alone(connection: Any, _record: object) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    connection.isolation_level = None
    for pragma in ("locking_mode = EXCLUSIVE", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
    # Leaving the log takes the one lock that every other connection stands in the way of.
    connection.execute("PRAGMA journal_mode = DELETE")


def begin_exclusive(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN EXCLUSIVE")


def _begin_deferred(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
