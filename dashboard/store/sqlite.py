"""SQLite as the store wants it: durable writers that take turns, readers that never wait."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from dashboard.errors import StoreError, StoreUnavailable

PATIENCE: Final = timedelta(seconds=20)
"""How long a writer waits for the others before it gives up."""

_LOOK_AGAIN: Final = 0.001
"""Seconds between two tries of a waiting writer. SQLite's own wait sleeps up to 0.1 s at a time,
and so misses most of the moments in which a busy process lets go of the lock."""

_READERS_KEPT: Final = 16


def parse_url(text: str) -> URL:
    """Read a store's address; StoreError tells what is wrong, without the address itself."""
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise StoreError("The store's url is none: give sqlite:////folder/linewatch.db") from error
    if url.get_backend_name() != "sqlite":
        raise StoreError(
            f"The store's url names {url.get_backend_name()}, which is not supported yet: "
            "give sqlite:////folder/linewatch.db"
        )
    if not url.database or url.database == ":memory:":
        raise StoreError(
            "The store's url names no file, and a store in memory cannot be shared by the roles: "
            "give sqlite:////folder/linewatch.db"
        )
    return url


def name_of(url: URL) -> str:
    """Say which store this is, for messages."""
    return f"The store {url.database}"


def has_file(url: URL) -> bool:
    """Whether there is something at the store's address; to connect would create it."""
    return Path(str(url.database)).exists()


def make_folder(url: URL) -> None:
    """Create the folder of the store's file, closed to other users, where there is none."""
    folder = Path(str(url.database)).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"The folder {folder} of the store cannot be made ({error.strerror}): "
            "make it, or choose another with LINEWATCH_HOME"
        ) from error


def writing_engine(url: URL, patience: timedelta = PATIENCE) -> Engine:
    """Connect for writing: one transaction at a time per process, on disk when it commits.

    BEGIN IMMEDIATE takes the write lock at once, since a transaction that starts to write later
    fails where another has written in between, whatever the time-out.
    """
    seconds = patience.total_seconds()
    engine = create_engine(
        url,
        pool_size=1,
        max_overflow=0,
        pool_timeout=seconds,
        connect_args={"timeout": seconds},
    )
    event.listen(engine, "connect", _prepare_writer)
    event.listen(engine, "begin", _begin_immediate_within(seconds))
    return engine


def reading_engine(url: URL) -> Engine:
    """Connect for reading: each transaction sees one moment of the store and waits for nobody."""
    engine = create_engine(
        url,
        pool_size=_READERS_KEPT,
        max_overflow=-1,
        connect_args={"timeout": PATIENCE.total_seconds()},
    )
    event.listen(engine, "connect", _prepare_reader)
    event.listen(engine, "begin", _begin_deferred)
    return engine


def touch(connection: Connection) -> None:
    """Write the first page of the file again as it is: a commit then shows that it can be."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    connection.exec_driver_sql(f"PRAGMA user_version = {version:d}")


def _prepare_writer(connection: Any, _record: object) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    pragmas = ("synchronous = FULL", "foreign_keys = ON", "busy_timeout = 0")
    _prepare(connection, *(f"PRAGMA {pragma}" for pragma in pragmas))


def _prepare_reader(connection: Any, _record: object) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    _prepare(connection, "PRAGMA query_only = ON")


def _prepare(connection: Any, *pragmas: str) -> None:  # noqa: ANN401 - SQLAlchemy hands the driver's own connection
    # Transactions begin where we say so and not where sqlite3 guesses.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    for pragma in pragmas:
        connection.execute(pragma)


def _begin_immediate_within(seconds: float) -> Callable[[Connection], None]:
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


def _begin_deferred(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
