"""Statements for the driver itself: the few that run too often to be built with SQLAlchemy.

They are texts with `?` for each value, and many rows go in or out by each database's quickest way.
Measured on SQLite on a busy machine: saving suggested fees with their roll-ups took 8.1 ms of CPU
with SQLAlchemy, and takes 3.4 ms with these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
)
from sqlalchemy.types import TypeEngine

from dashboard.store.engine.database import translated
from dashboard.store.engine.engine import database_of
from dashboard.store.schema.columns import Exact

Row: TypeAlias = tuple[Any, ...]


_MANY: Final = 1000
_ROOM: Final = "PRAGMA cache_size = -64000"
"""Kilobytes of a large index that SQLite caches from now on. With its default of 2 MB it writes
pages and reads them again within one transaction: tracking took twice as long at 400,000 hashes."""
_KINDS: Final = (
    (SmallInteger, "int2"),
    (BigInteger, "int8"),
    (Integer, "int4"),
    (Float, "float8"),
    (Boolean, "bool"),
    (LargeBinary, "bytea"),
    (String, "text"),
    (JSON, "text"),
)
"""The first match counts: the first two are integers, too."""


def read_rows(connection: Connection, statement: str, values: Sequence[Any]) -> list[Row]:
    """Return what a statement selects, as the driver returns it."""
    result = connection.exec_driver_sql(_marked(connection, statement), tuple(values))
    cursor: Any = result.cursor
    rows: list[Row] = cursor.fetchall()
    result.close()
    return rows


def write_rows(connection: Connection, statement: str, rows: Sequence[Row]) -> None:
    """Run a statement that writes once for each row of values."""
    if rows:
        connection.exec_driver_sql(_marked(connection, statement), list(rows))


def placeholders(values: Collection[Any]) -> str:
    """Return the list of parameters after IN for so many values."""
    return f"({', '.join('?' * len(values))})"


def _marked(connection: Connection, statement: str) -> str:
    return statement.replace("?", database_of(connection).parameter)


def insert_many(
    connection: Connection,
    table: Table,
    rows: Sequence[tuple[Any, ...]],
    names: Sequence[str] | None = None,
) -> None:
    """Insert rows that do not exist yet, in the driver's own form.

    They hold the columns called `names`, or all of them, in this order.
    """
    chosen = names or [column.name for column in table.columns]
    columns = ", ".join(f'"{name}"' for name in chosen)
    if connection.dialect.name == "postgresql":
        kinds = [_sent_as(table.columns[name]) for name in chosen]
        _copy(connection, f"COPY {table.name} ({columns}) FROM STDIN", kinds, rows)
    elif rows:
        parameters = ", ".join("?" * len(chosen))
        if len(rows) >= _MANY:
            connection.exec_driver_sql(_ROOM)
        insert = f"INSERT INTO {table.name} ({columns}) VALUES ({parameters})"  # noqa: S608 - names of ours
        connection.exec_driver_sql(insert, list(rows))


def select_many(connection: Connection, query: str, at_once: int) -> Iterator[list[Any]]:
    """Yield the rows of a query in portions, as the driver returns them.

    A transaction must be open already: without one the rows would not show one moment.
    """
    with driver_errors(connection):
        cursor = _streaming(connection)
        try:
            cursor.execute(query)
            while rows := cursor.fetchmany(at_once):
                yield rows
        finally:
            cursor.close()


@contextmanager
def driver_errors(connection: Connection) -> Iterator[None]:
    """Turn what the driver raises into a StoreError, as for SQLAlchemy's errors."""
    database = database_of(connection)
    try:
        yield
    except database.driver_error as error:
        raise translated(database, error) from error


def _streaming(connection: Connection) -> Any:  # noqa: ANN401 - each driver has a cursor of its own
    """Return a cursor that buffers few rows at once."""
    driver = _driver_of(connection)
    if connection.dialect.name == "postgresql":
        return driver.cursor("many", binary=True)
    return driver.cursor()


def _copy(
    connection: Connection, statement: str, kinds: Sequence[str | None], rows: Sequence[Any]
) -> None:
    """Send rows by PostgreSQL's COPY, unless a column needs its values converted."""
    is_binary = None not in kinds
    from psycopg.types.string import BytesBinaryDumper  # noqa: PLC0415 - a store in a file does without psycopg

    form = " (FORMAT BINARY)" if is_binary else ""
    with driver_errors(connection), _driver_of(connection).cursor() as cursor:
        cursor.adapters.register_dumper(bytes, BytesBinaryDumper)  # or one in Python takes them
        with cursor.copy(statement + form) as copy:
            if is_binary:
                copy.set_types(kinds)
            write = copy.write_row
            for row in rows:
                write(row)


def _driver_of(connection: Connection) -> Any:  # noqa: ANN401 - each driver has a connection of its own
    return connection.connection.driver_connection


def _sent_as(column: Column[Any]) -> str | None:
    """Return PostgreSQL's name for the type of a value as the driver takes it; None: as text."""
    kind: TypeEngine[Any] = column.type
    if isinstance(kind, Exact):
        kind = kind.storage
    return next((name for plain, name in _KINDS if isinstance(kind, plain)), None)
