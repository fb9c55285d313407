"""Copy a whole store into an empty one, of the same or the other kind, and prove that it is all.

Tables are read and written in bulk, below the types of their columns, in the form that SQLite
keeps. Measured with a million rejections and as many signed transactions, which are compared row
by row: from SQLite to PostgreSQL they take 24 seconds of CPU here and 28 in the server, the way
back 50 here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from marshal import dumps
from typing import Any, Final, TypeAlias

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
from dashboard.store.engine.driver import insert_many, select_many
from dashboard.store.maintenance.deferred_indexes import indexes_made_last
from dashboard.store.maintenance.sequences import count_on_after, last_number
from dashboard.store.schema import installation, metadata

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


_MODULUS: Final = 1 << 64
_PLAIN: Final = 2
"""The form of `marshal` in which equal rows of one Python have the same bytes, ints and floats
apart: later forms say which texts are one object. Both copies are read by one process."""

_LARGE: Final = 10_000
"""Rows from which on it pays to drop the indexes of a table and to build them again."""


@dataclass(slots=True)
class _Checksum:
    """How many rows went by, and a sum over what they say, whatever their order."""

    rows: int = 0
    total: int = field(default=0, repr=False)

    def watch(self, blocks: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
        """Hand rows on, and count them."""
        for rows in blocks:
            self.rows += len(rows)
            self.total += sum(map(hash, map(dumps, rows, repeat(_PLAIN))))
            self.total %= _MODULUS
            yield rows


def copy_store(source: Connection, target: Connection, large: int = _LARGE) -> dict[str, int]:
    """Copy all rows of all tables; return how many of each table.

    Both have our schema; `target` holds nothing but its own installation, which `source`'s
    replaces. `source` sees one moment. Numbers go on where they are in `source`. StoreError where
    the copy does not say the same afterwards: let the transaction of `target` be undone. Tables of
    `large` many rows get their indexes when all rows are there.
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
