"""A thin DB-API over APSW, as much of it as SQLAlchemy and the store use of `sqlite3`.

`sqlite+fragile:///file?vfs=name` is the address of a store whose files go through that VFS. Its
errors are those of `sqlite3`, so that the store reads their codes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import apsw
from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import ConnectArgsType, DBAPIModule

_CLASSES: Final[dict[type[apsw.Error], type[sqlite3.Error]]] = {
    apsw.ConstraintError: sqlite3.IntegrityError,
    apsw.CorruptError: sqlite3.DatabaseError,
    apsw.NotADBError: sqlite3.DatabaseError,
}


@contextmanager
def _errors() -> Iterator[None]:
    """Raise what `sqlite3` would."""
    try:
        yield
    except apsw.Error as error:
        kind = _CLASSES.get(type(error), sqlite3.OperationalError)
        told = kind(str(error))
        told.sqlite_errorcode = getattr(error, "extendedresult", sqlite3.SQLITE_ERROR)
        raise told from error


class Cursor:
    """One statement, run to its end at once."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: tuple[tuple[Any, ...], ...] | None = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self._rows: Iterator[Any] = iter(())

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Cursor:
        own = self.connection.own
        cursor = own.cursor()
        cursor.exec_trace = self._describe
        before = own.total_changes()
        with _errors():
            self._rows = iter(cursor.execute(statement, tuple(values)).fetchall())
        has_changed = own.total_changes() != before
        self.rowcount = own.changes() if has_changed else (0 if self.description is None else -1)
        self.lastrowid = own.last_insert_rowid()
        return self

    def executemany(self, statement: str, many: Iterable[Sequence[Any]]) -> Cursor:
        """Run a statement for each row of values."""
        count = 0
        for values in many:
            count += max(0, self.execute(statement, values).rowcount)
        self.rowcount = count
        return self

    def fetchone(self) -> Any:  # noqa: ANN401 - a row, or None
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return [row for _, row in zip(range(size or self.arraysize), self._rows, strict=False)]

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def close(self) -> None:
        self._rows = iter(())

    def _describe(self, cursor: apsw.Cursor, _statement: str, _values: object) -> bool:
        columns = cursor.get_description()
        self.description = tuple((name, *(None,) * 6) for name, _ in columns) or None
        return True


class Connection:
    """A connection whose transactions begin where the store says so."""

    def __init__(self, own: apsw.Connection, pragmas: Callable[[str], str]) -> None:
        """Use an open connection; `pragmas` may exchange a statement that sets one."""
        self.own = own
        self.isolation_level: str | None = None
        self._pragmas = pragmas

    @property
    def in_transaction(self) -> bool:
        return bool(self.own.in_transaction)

    def cursor(self) -> Cursor:
        return Cursor(self)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Cursor:
        """Run a statement with a cursor of its own."""
        return self.cursor().execute(self._pragmas(statement), values)

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        with _errors():
            self.own.close()

    def create_function(
        self, name: str, narg: int, function: Callable[..., Any], *, deterministic: bool = False
    ) -> None:
        self.own.create_scalar_function(name, function, narg, deterministic=deterministic)


class Driver:
    """What `sqlite3` is as a module."""

    paramstyle = "qmark"
    apilevel = "2.0"
    threadsafety = 3
    sqlite_version = apsw.sqlite_lib_version()
    sqlite_version_info = tuple(map(int, sqlite_version.split(".")))
    Warning = sqlite3.Warning
    Error = sqlite3.Error
    InterfaceError = sqlite3.InterfaceError
    DatabaseError = sqlite3.DatabaseError
    DataError = sqlite3.DataError
    OperationalError = sqlite3.OperationalError
    IntegrityError = sqlite3.IntegrityError
    InternalError = sqlite3.InternalError
    ProgrammingError = sqlite3.ProgrammingError
    NotSupportedError = sqlite3.NotSupportedError
    Binary = bytes

    def connect(
        self, path: str, vfs: str, timeout: float = 5.0, synchronous: str = "", **_: object
    ) -> Connection:
        """Open a file through a VFS; `synchronous` is set instead of what the store sets."""
        with _errors():
            own = apsw.Connection(path, vfs=vfs)
        own.set_busy_timeout(int(timeout * 1000))

        def pragmas(statement: str) -> str:
            if synchronous and statement.startswith("PRAGMA synchronous"):
                return f"PRAGMA synchronous = {synchronous}"
            return statement

        return Connection(own, pragmas)


class FragileDialect(SQLiteDialect_pysqlite):
    """SQLAlchemy's own for SQLite, on this driver."""

    driver = "fragile"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> DBAPIModule:
        """Return the driver in place of a module."""
        return Driver()  # type: ignore[return-value]  # as much of one as is used

    def create_connect_args(self, url: URL) -> ConnectArgsType:
        """Hand on the file and everything else that the address says."""
        return [url.database or ""], dict(url.query)


registry.register("sqlite.fragile", __name__, "FragileDialect")
