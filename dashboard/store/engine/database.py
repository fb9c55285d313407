"""The kinds of database that hold a store: queries without SQLAlchemy, and errors as ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.lease_clock import BootMoment
from dashboard.store.engine.sqlite import SqliteFile

PATIENCE: Final = timedelta(seconds=20)
"""How long a writer waits for other writers before it gives up."""

LONGEST_PAUSE: Final = timedelta(minutes=1)
"""How long a writer that stopped (paused, cut off) may keep the others waiting. Even on a slow
machine one goes on by then: a transaction only computes and waits for nothing."""

_EXAMPLES: Final = "sqlite:////folder/linewatch.db or postgresql://user:password@host/database"


class Database(Protocol):
    """What the store needs of a database beyond SQL; messages show its `name`.

    `parameter` marks a value in a statement for the driver, which raises `driver_error`.
    `is_near`: small questions take microseconds, not the time to a server and back.

    Both kinds let one transaction write at a time and show readers one moment. So the ids of rows
    rise in the order in which transactions end, and a reader of "all after the last one I saw"
    misses none.
    """

    name: str
    parameter: str
    driver_error: type[Exception]
    is_near: bool

    def clear_text_hosts(self) -> Sequence[str]:
        """Return the hosts that would be contacted without TLS."""

    def exists(self) -> bool:
        """Whether a store may exist there; False if connecting would create one."""

    def identity(self) -> object:
        """Return a value that changes when another store replaces this one."""

    def check_corruption(self, connection: Connection, longest: timedelta) -> None:
        """Raise StoreError, naming the remedy, for damage that shows within `longest`."""

    def prepare(self) -> None:
        """Create what must exist before a store can be created."""

    def create(self) -> None:
        """Create an empty store, without a schema, if there is none."""

    def reading_engine(self) -> Engine:
        """Connect for reading."""

    def writing_engine(
        self,
        patience: timedelta,
        longest_pause: timedelta = LONGEST_PAUSE,
        *,
        is_synced: bool = True,
        takes_turns: bool = True,
    ) -> Engine:
        """Connect for writing; a writer waits for the others for at most `patience`.

        A server ends the transaction of a process that stopped within it after `longest_pause`.

        If it is not `is_synced`, a power cut may undo the last transactions, each as a whole. A
        connection that does not take turns waits for nobody, if the database allows that: it must
        change only its own rows, and create no ids.
        """

    def exclusive(self) -> AbstractContextManager[Connection]:
        """Open a transaction while no other process uses the store; else raise the driver's error.

        Processes that connect meanwhile are refused.
        """

    def checkpoint(self, connection: Connection) -> None:
        """Move the log into the file, if the database postpones that."""

    def end_stalled_writer(self, connection: Connection, longest: timedelta) -> None:
        """End a transaction whose process has sent nothing for `longest`, if the server can."""

    def use_autocommit(self, connection: Any) -> None:  # noqa: ANN401 - the driver's own
        """Let each statement of a driver's connection see everything committed before it.

        It does not wait for other writers.
        """

    def now(self, connection: Connection) -> BootMoment:
        """Return the time by which leases expire, the same for every process."""

    def check_space(self, connection: Connection) -> None:
        """Raise StoreUnavailable if nothing can be saved now; finds out without saving."""

    def size(self, connection: Connection) -> int:
        """Return the size of the store in bytes."""

    def unavailable(self, error: BaseException) -> StoreUnavailable | StoreError | None:
        """Describe an error of the driver, with its remedy; None if it is unknown."""


def database_at(text: str) -> Database:
    """Parse the address of a store; StoreError says what is wrong, without the address itself."""
    try:
        url = make_url(text)
        if "@" in (url.host or ""):
            raise ValueError  # it begins with half of a password
    except (ArgumentError, ValueError):  # which may name half of a password
        raise StoreError(
            f"store.url is not an address: write {_EXAMPLES}, with %40 for @, %3A for : and %2F "
            "for / in a password, and a number for a port"
        ) from None
    return _database(url)


def address_of(path: Path) -> str:
    """Return the address of a store in a file."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def clear_text_hosts(text: str) -> Sequence[str]:
    """Return the hosts that would be contacted without TLS; StoreError as `database_at`."""
    return database_at(text).clear_text_hosts()


def _database(url: URL) -> Database:
    match url.get_backend_name():
        case "sqlite":
            return SqliteFile(url)
        case "postgresql":
            from dashboard.store.engine.postgresql import PostgresqlServer  # noqa: PLC0415 - psycopg takes 10 MB, which a store in a file does not need

            return PostgresqlServer(url)
        case other:
            raise StoreError(f"store.url names {other}, which is not supported: write {_EXAMPLES}")


@contextmanager
def store_errors(database: Database) -> Iterator[None]:
    """Turn whatever the database raises into a StoreError."""
    try:
        yield
    except DBAPIError as error:
        raise translated(database, error.orig) from error
    except PoolTimeout as error:
        raise StoreUnavailable(
            f"{database.name} cannot be used now: this process has been writing for too long; "
            "try again"
        ) from error
    except database.driver_error as error:  # of a statement that went below SQLAlchemy
        raise translated(database, error) from error
    except StatementError as error:
        # Not the database's refusal but a value of ours that it cannot keep: a mistake in code.
        raise error.orig or error from error


def translated(database: Database, error: BaseException | None) -> StoreError:
    """Return our error for an error of the driver."""
    known = None if error is None else database.unavailable(error)
    return known or StoreError(f"{database.name} refused what was asked ({error})")


class DriverReader:
    """Reads from one thread at a time and never waits: it fails where other readers would wait."""

    def __init__(self, engine: Engine, database: Database) -> None:
        """Connect through `engine` at the first question."""
        self._engine = engine
        self._database = database
        self._cursor: Any = None
        self.parameter = database.parameter
        self.is_near = database.is_near

    def rows(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        """Return all rows; `statement` has the driver's own `parameter` for each value."""
        cursor = self._cursor or self._open()
        try:
            cursor.execute(statement, values)
            rows: list[Any] = cursor.fetchall()
        except self._database.driver_error as error:
            raise self._lost(error) from error
        return rows

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        if self._cursor is not None:
            self._cursor.connection.close()
            self._cursor = None

    def _open(self) -> Any:  # noqa: ANN401 - each driver has a cursor of its own
        """Open a connection for this reader alone, outside the pool."""
        # One stays with the pool: SQLite's last connection to go takes the log along.
        # A new connection is prepared below SQLAlchemy, so the driver's own errors come through.
        try:
            with store_errors(self._database), ExitStack() as taken:
                pooled = taken.enter_context(closing(self._engine.raw_connection()))
                connection: Any = pooled.driver_connection
                self._database.use_autocommit(connection)
                self._engine.raw_connection().close()
                pooled.detach()
                taken.pop_all()
        except self._database.driver_error as error:
            raise self._lost(error) from error
        self._cursor = connection.cursor()
        return self._cursor

    def _lost(self, error: Exception) -> StoreError:
        self.close()
        return translated(self._database, error)
