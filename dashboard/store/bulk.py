"""Many rows at once, by each database's quickest way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table


def insert_many(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows that are not there yet: all columns in their order, as the driver takes them."""
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({names}) FROM STDIN", rows)
    elif rows:
        marks = ", ".join("?" * len(table.columns))
        insert = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608 - names of ours
        connection.exec_driver_sql(insert, list(rows))


def _copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
