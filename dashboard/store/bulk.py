"""Many rows at once, by each database's quickest way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table

from dashboard.store.engine import database_of
from dashboard.store.failures import translated

_MANY: Final = 1000
_ROOM: Final = "PRAGMA cache_size = -32000"
"""Kilobytes of a large index that SQLite keeps in memory from now on. With its usual 2 MB it writes
pages and reads them again within one transaction: tracking took twice as long at 400,000 hashes."""


def insert_many(
    connection: Connection,
    table: Table,
    rows: Sequence[tuple[Any, ...]],
    names: Sequence[str] | None = None,
) -> None:
    """Insert rows that are not there yet, as the driver takes them.

    They hold the columns called `names`, or all of them, in this order.
    """
    chosen = names or [column.name for column in table.columns]
    columns = ", ".join(f'"{name}"' for name in chosen)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({columns}) FROM STDIN", rows)
    elif rows:
        marks = ", ".join("?" * len(chosen))
        if len(rows) >= _MANY:
            connection.exec_driver_sql(_ROOM)
        insert = f"INSERT INTO {table.name} ({columns}) VALUES ({marks})"  # noqa: S608 - names of ours
        connection.exec_driver_sql(insert, list(rows))


def _copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    database = database_of(connection)
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except database.driver_error as error:
        raise translated(database, error) from error
