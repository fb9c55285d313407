"""The database at an address: its errors as ours, and queries without SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.connection import Database
from dashboard.store.engine.sqlite import SqliteFile

_EXAMPLES: Final = "sqlite:////folder/linewatch.db or postgresql://user:password@host/database"


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
    return URL.create("sqlite", database=str(path)).render_as_string()


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
