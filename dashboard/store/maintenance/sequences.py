"""The numbers that a database gives to new rows: where they stand, and moving them on."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Table, func, select

from dashboard.store.maintenance.finding import Finding, rebuildable
from dashboard.store.schema import metadata


def counted_column(table: Table) -> str | None:
    """Return the column whose numbers the database counts up and never gives twice, if any."""
    if not table.dialect_options["sqlite"]["autoincrement"]:
        return None
    (column,) = table.primary_key
    return column.name


def last_number(connection: Connection, table: Table) -> int:
    """Return the last number that the counted column of a table was given, 0 for none."""
    if connection.dialect.name == "postgresql":
        query = f"SELECT last_value, is_called FROM {_sequence(connection, table)}"  # noqa: S608 - a name that the server gave
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


def numbers_given_again(connection: Connection) -> Iterator[Finding]:
    """Yield which tables would give a number again."""
    for table, given, largest in _behind(connection):
        yield rebuildable(
            f"{table.name} would go on counting after {given:,}, and has rows up to {largest:,}"
        )


def count_on(connection: Connection) -> None:
    """Let tables go on after their largest number."""
    for table, _given, largest in list(_behind(connection)):
        count_on_after(connection, table, largest)


def _behind(connection: Connection) -> Iterator[tuple[Table, int, int]]:
    for table in metadata.sorted_tables:
        name = counted_column(table)
        if name is not None:
            largest = connection.scalar(select(func.max(table.c[name]))) or 0
            if (given := last_number(connection, table)) < largest:
                yield table, given, largest
