"""Copy a whole store into an empty one, of the same or the other kind, and prove that it is all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from marshal import dumps
from typing import Final

from sqlalchemy import Connection, Table, delete, func, literal, select, text

from dashboard.errors import StoreError
from dashboard.store.maintenance.deferred_indexes import indexes_made_last
from dashboard.store.maintenance.raw_rows import Row, read_table, write_table
from dashboard.store.maintenance.sequences import count_on_after, counted_column, last_number
from dashboard.store.schema import installation, metadata

_MODULUS: Final = 1 << 64
_PLAIN: Final = 2
"""The form of `marshal` in which equal rows of one Python have the same bytes, ints and floats
apart: later forms say which texts are one object. Both copies are read by one process."""

_LARGE: Final = 10_000
"""Rows for which it pays to make the indexes of a table anew."""


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
            _count_on(source, target, table)
    target.execute(text("ANALYZE"))  # or the first questions take long
    return copied


def _copy_table(source: Connection, target: Connection, table: Table) -> int:
    there, here = _Checksum(), _Checksum()
    write_table(target, table, there.watch(read_table(source, table)))
    for _ in here.watch(read_table(target, table)):
        pass
    if there != here:
        raise StoreError(
            f"The copy of {table.name} holds {here.rows:,} rows that say something else than "
            f"the {there.rows:,} of the source: nothing is copied; look after both disks"
        )
    return there.rows


def _has_many(source: Connection, table: Table, many: int) -> bool:
    some = select(literal(1)).select_from(table).limit(many).subquery()
    return source.scalar(select(func.count()).select_from(some)) == many


def _count_on(source: Connection, target: Connection, table: Table) -> None:
    if counted_column(table) is not None:
        count_on_after(target, table, last_number(source, table))
