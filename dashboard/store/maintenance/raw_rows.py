"""Whole tables below their types, in the form that SQLite keeps: read and written in bulk.

Measured with a million rejections and as many signed transactions, which are compared row by row:
from SQLite to PostgreSQL they take 24 seconds of CPU here and 28 in the server, the way back 50
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import JSON, Boolean, Column, Connection, Table, Uuid

from dashboard.store.engine.driver import insert_many, select_many

Row: TypeAlias = tuple[Any, ...]

_AT_ONCE: Final = 5_000


def read_table(
    connection: Connection, table: Table, columns: Sequence[Column[Any]] = ()
) -> Iterator[list[Row]]:
    """Yield all rows by the thousand: whole numbers, floats, texts and bytes, or None.

    All columns in their order, or only some.
    """
    wanted = ", ".join(_as_kept(connection, column) for column in columns or table.columns)
    query = f"SELECT {wanted} FROM {table.name}"  # noqa: S608 - names of our own schema
    return select_many(connection, query, _AT_ONCE)


def write_table(connection: Connection, table: Table, blocks: Iterable[Sequence[Row]]) -> int:
    """Insert rows as `read_table` yields them; return how many."""
    written = 0
    for rows in blocks:
        insert_many(connection, table, rows)
        written += len(rows)
    return written


def counted_column(table: Table) -> str | None:
    """Return the column whose numbers the database counts up and never gives twice, if any."""
    if not table.dialect_options["sqlite"]["autoincrement"]:
        return None
    (column,) = table.primary_key
    return column.name


def last_number(connection: Connection, table: Table) -> int:
    """Return the last number that the counted column of a table was given, 0 for none."""
    if connection.dialect.name == "postgresql":
        query = f"SELECT last_value, is_called FROM {_sequence(connection, table)}"  # noqa: S608 - a name that the server told
        last, is_given = connection.exec_driver_sql(query).one()
        return int(last) if is_given else 0
    given = "SELECT seq FROM sqlite_sequence WHERE name = ?"
    return connection.exec_driver_sql(given, (table.name,)).scalar() or 0


def count_on_after(connection: Connection, table: Table, number: int) -> None:
    """Let the counted column of a table go on after a number."""
    if number == 0:
        return
    if connection.dialect.name == "postgresql":
        sequence = _sequence(connection, table)
        connection.exec_driver_sql("SELECT setval(%s::regclass, %s)", (sequence, number))
        return
    update = "UPDATE sqlite_sequence SET seq = ? WHERE name = ?"
    if connection.exec_driver_sql(update, (number, table.name)).rowcount == 0:
        insert = "INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)"
        connection.exec_driver_sql(insert, (number, table.name))


def _sequence(connection: Connection, table: Table) -> str:
    query = "SELECT pg_get_serial_sequence(%s, %s)"
    name: str = connection.exec_driver_sql(query, (table.name, counted_column(table))).scalar_one()
    return name


def _as_kept(connection: Connection, column: Column[Any]) -> str:
    """Return the expression that gives a column in the form of SQLite."""
    name = f'"{column.name}"'
    if connection.dialect.name != "postgresql":
        return name
    match column.type:
        case Uuid():
            return f"replace({name}::text, '-', '')"
        case JSON():
            return f"{name}::text"
        case Boolean():
            return f"{name}::int"
        case _:
            return name
