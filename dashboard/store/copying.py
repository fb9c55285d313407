"""Copy a whole store into an empty one, of the same or the other kind, and prove that it is all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from sqlalchemy import Connection, Table, delete

from dashboard.errors import StoreError
from dashboard.store.raw_rows import (
    Row,
    count_on_after,
    counted_column,
    last_number,
    read_table,
    write_table,
)
from dashboard.store.schema import installation, metadata

_DIGEST: Final = 8
_MODULUS: Final = 1 << 8 * _DIGEST


@dataclass(slots=True)
class Tally:
    """How many rows went by, and a sum over what they say, whatever their order."""

    rows: int = 0
    total: int = field(default=0, repr=False)

    def watch(self, blocks: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
        """Hand rows on, and count them."""
        for rows in blocks:
            self.rows += len(rows)
            self.total += sum(
                int.from_bytes(blake2b(repr(row).encode(), digest_size=_DIGEST).digest())
                for row in rows
            )
            self.total %= _MODULUS
            yield rows


def copy_store(source: Connection, target: Connection) -> dict[str, int]:
    """Copy all rows of all tables; return how many of each table.

    Both have our schema; `target` holds nothing but its own installation, which `source`'s
    replaces. `source` sees one moment. Numbers go on where they are in `source`. StoreError where
    the copy does not say the same afterwards: let the transaction of `target` be undone.
    """
    target.execute(delete(installation))
    copied = {}
    for table in metadata.sorted_tables:
        there, here = Tally(), Tally()
        write_table(target, table, there.watch(read_table(source, table)))
        for _ in here.watch(read_table(target, table)):
            pass
        if there != here:
            raise StoreError(
                f"The copy of {table.name} holds {here.rows:,} rows that say something else than "
                f"the {there.rows:,} of the source: nothing is copied; look after both disks"
            )
        copied[table.name] = there.rows
        _count_on(source, target, table)
    return copied


def _count_on(source: Connection, target: Connection, table: Table) -> None:
    if counted_column(table) is not None:
        count_on_after(target, table, last_number(source, table))
