"""Copy a whole store into an empty one, of the same or the other kind, and prove it complete.

Tables are read and written in bulk, below the types of their columns, in SQLite's form. Measured
with a million rejections and as many signed transactions, which are compared row by row: from
SQLite to PostgreSQL they take 24 seconds of CPU here and 28 in the server, the way back 50 here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from marshal import dumps
from typing import Any, Final

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Table,
    Uuid,
    delete,
    func,
    literal,
    select,
    text,
)

from dashboard.errors import StoreError
from dashboard.store.engine.driver import Row, insert_many, select_many
from dashboard.store.schema import installation, metadata
from dashboard.store.schema.columns import RowId

_AT_ONCE: Final = 5_000


def read_table(
    connection: Connection, table: Table, columns: Sequence[Column[Any]] = ()
) -> Iterator[list[Row]]:
    """Yield all rows by the thousand: integers, floats, texts and bytes, or None.

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


def _as_kept(connection: Connection, column: Column[Any]) -> str:
    """Return the expression for a column in SQLite's form."""
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


_MODULUS: Final = 1 << 64
_PLAIN: Final = 2
"""The form of `marshal` in which equal rows of one Python have the same bytes, ints and floats
apart: later forms say which texts are one object. Both copies are read by one process."""

_LARGE: Final = 10_000
"""From this number of rows it pays to drop the indexes of a table and build them again."""


@dataclass(slots=True)
class _Checksum:
    """The number of rows that passed, and a sum over their content in any order."""

    rows: int = 0
    total: int = field(default=0, repr=False)

    def watch(self, blocks: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
        """Pass rows on, and count them."""
        for rows in blocks:
            self.rows += len(rows)
            self.total += sum(map(hash, map(dumps, rows, repeat(_PLAIN))))
            self.total %= _MODULUS
            yield rows


def copy_store(source: Connection, target: Connection, large: int = _LARGE) -> dict[str, int]:
    """Copy all rows of all tables; return how many of each table.

    Both have our schema; `target` is empty except for its installation, which `source`'s replaces.
    `source` sees one moment. Numbering continues from `source`. StoreError if the copy differs
    afterwards: let the transaction of `target` be undone. Tables with at least `large` rows get
    their indexes when all rows are there.
    """
    target.execute(delete(installation))
    copied = {}
    many = [each for each in metadata.sorted_tables if _has_many(source, each, large)]
    with indexes_made_last(target, many):
        for table in metadata.sorted_tables:
            copied[table.name] = _copy_table(source, target, table)
            count_on_after(target, table, last_number(source, table))
    target.execute(text("ANALYZE"))  # or the first questions take long
    return copied


def _copy_table(source: Connection, target: Connection, table: Table) -> int:
    there, here = _Checksum(), _Checksum()
    write_table(target, table, there.watch(read_table(source, table)))
    for _ in here.watch(read_table(target, table)):
        pass
    if there != here:
        raise StoreError(
            f"The copy of {table.name} ({here.rows:,} rows) differs from the source "
            f"({there.rows:,} rows): nothing was moved; check both disks"
        )
    return there.rows


def _has_many(source: Connection, table: Table, many: int) -> bool:
    some = select(literal(1)).select_from(table).limit(many).subquery()
    return source.scalar(select(func.count()).select_from(some)) == many


_MEMORY: Final = "SET LOCAL maintenance_work_mem = '128MB'"
"""The memory in which PostgreSQL may sort an index: twice its default."""

_SQLITE: Final = """
SELECT 'DROP INDEX "' || name || '"', sql FROM sqlite_master
WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (SELECT value FROM json_each(?))
"""

_POSTGRESQL: Final = """
SELECT format('DROP INDEX %%s', indexrelid::regclass), pg_get_indexdef(indexrelid)
FROM pg_index
WHERE indrelid::regclass = ANY(%(tables)s::regclass[])
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""


@contextmanager
def indexes_made_last(connection: Connection, tables: Sequence[Table]) -> Iterator[None]:
    """Drop the indexes of these empty tables; create them again afterwards.

    Those of keys stay.
    """
    names = [table.name for table in tables]
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_MEMORY)
        found = connection.exec_driver_sql(_POSTGRESQL, {"tables": names}).all()
    else:
        found = connection.exec_driver_sql(_SQLITE, (json.dumps(names),)).all()
    for drop, _ in found:
        connection.exec_driver_sql(drop)
    yield
    for _, make in found:
        connection.exec_driver_sql(make)


def counts_up(connection: Connection, table: Table) -> bool:
    """Whether the database remembers the last number that it gave to a row of a table.

    PostgreSQL does for every numbered key; SQLite only if no number may be given twice, and
    otherwise gives the one after the largest.
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
    """Continue the numbering of a table after a number."""
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
    """Return the key that the database numbers; other keys, such as a network's id, are given."""
    column = table.autoincrement_column
    return column if column is not None and column.type is RowId else None


def _largest(connection: Connection, table: Table) -> int:
    column = _numbered_column(table)
    return 0 if column is None else connection.scalar(select(func.max(column))) or 0
