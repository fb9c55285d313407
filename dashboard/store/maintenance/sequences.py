"""The numbers that a database gives to new rows: where they stand, and moving them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, Connection, Table, func, select

from dashboard.store.maintenance.finding import Finding, rebuildable
from dashboard.store.schema import metadata
from dashboard.store.schema.columns import RowId


def counts_up(connection: Connection, table: Table) -> bool:
    """Whether the database remembers the last number that it gave to a row of a table.

    PostgreSQL does for every key that is a number of its own; SQLite only where none may be given
    twice, and otherwise gives the one after the largest.
    """
    if connection.dialect.name == "postgresql":
        return _sequence(connection, table) is not None
    return bool(table.dialect_options["sqlite"]["autoincrement"])


def last_number(connection: Connection, table: Table) -> int:
    """Return the last number that was given to a row of a table, 0 for none."""
    if not counts_up(connection, table):
        return _largest(connection, table)
    if connection.dialect.name == "postgresql":
        query = f"SELECT last_value, is_called FROM {_sequence(connection, table)}"  # noqa: S608 - a name that the server gave
        last, is_given = connection.exec_driver_sql(query).one()
        return int(last) if is_given else 0
    given = "SELECT seq FROM sqlite_sequence WHERE name = ?"
    return connection.exec_driver_sql(given, (table.name,)).scalar() or 0


def count_on_after(connection: Connection, table: Table, number: int) -> None:
    """Let a table that counts up go on after a number."""
    if number == 0 or not counts_up(connection, table):
        return
    if connection.dialect.name == "postgresql":
        sequence = _sequence(connection, table)
        connection.exec_driver_sql("SELECT setval(%s::regclass, %s)", (sequence, number))
        return
    update = "UPDATE sqlite_sequence SET seq = ? WHERE name = ?"
    if connection.exec_driver_sql(update, (number, table.name)).rowcount == 0:
        insert = "INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)"
        connection.exec_driver_sql(insert, (number, table.name))


def _sequence(connection: Connection, table: Table) -> str | None:
    column = _numbered_column(table)
    if column is None:
        return None
    query = "SELECT pg_get_serial_sequence(%s, %s)"
    name: str | None = connection.exec_driver_sql(query, (table.name, column.name)).scalar_one()
    return name


def _numbered_column(table: Table) -> Column[Any] | None:
    """Return the key that the database numbers; keys such as a network's id are given to it."""
    column = table.autoincrement_column
    return column if column is not None and column.type is RowId else None


def _largest(connection: Connection, table: Table) -> int:
    column = _numbered_column(table)
    return 0 if column is None else connection.scalar(select(func.max(column))) or 0


def numbers_given_again(connection: Connection) -> Iterator[Finding]:
    """Yield which tables would give a number again."""
    for table, given, largest in _behind(connection):
        yield rebuildable(
            f"{table.name} would give {given + 1:,} to its next row, and has rows up to {largest:,}"
        )


def count_on(connection: Connection) -> None:
    """Let tables go on after their largest number."""
    for table, _given, largest in list(_behind(connection)):
        count_on_after(connection, table, largest)


def _behind(connection: Connection) -> Iterator[tuple[Table, int, int]]:
    for table in metadata.sorted_tables:
        if counts_up(connection, table):
            largest = _largest(connection, table)
            if (given := last_number(connection, table)) < largest:
                yield table, given, largest
