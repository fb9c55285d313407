"""Queries below SQLAlchemy, on their own connection: for thousands of questions a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

from sqlalchemy import Engine

from dashboard.errors import StoreError
from dashboard.store.engine.database import Database, store_errors, translated


class DriverReader:
    """Asks from one thread at a time, and never waits: it fails where others would."""

    def __init__(self, engine: Engine, database: Database) -> None:
        """Take a connection from `engine` at the first question."""
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

    def stream(self, statement: str) -> Iterator[Any]:
        """Yield the rows of a statement without values, however many they are."""
        try:
            cursor = self._cursor or self._open()
            cursor.execute(statement)
            yield from cursor
        except self._database.driver_error as error:
            raise self._lost(error) from error

    def close(self) -> None:
        """Close the connection; the next question takes another."""
        if self._cursor is not None:
            self._cursor.connection.close()
            self._cursor = None

    def _open(self) -> Any:  # noqa: ANN401 - each driver has a cursor of its own
        """Take a connection that only this reader has, and that no pool gets back."""
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
