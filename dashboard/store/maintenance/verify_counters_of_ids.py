"""Whether numbers are given that no row has: the counters of ids, and setting them right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, Table, func, select

from dashboard.store.maintenance.finding import Finding, mendable
from dashboard.store.maintenance.raw_rows import count_on_after, counted_column, last_number
from dashboard.store.maintenance.rebuilder import Mender
from dashboard.store.schema import metadata


def wrong_numbers(connection: Connection) -> Iterator[Finding]:
    """Tell which tables would give a number again."""
    for table, given, largest in _behind(connection):
        yield mendable(
            f"{table.name} would go on counting after {given:,}, and has rows up to {largest:,}"
        )


def mend_numbers(mender: Mender) -> int:
    """Let tables go on after their largest number; return how many did not."""
    return mender.mend("numbers", ["all"], _count_on)


def _count_on(connection: Connection, _: Sequence[str]) -> int:
    behind = list(_behind(connection))
    for table, _given, largest in behind:
        count_on_after(connection, table, largest)
    return len(behind)


def _behind(connection: Connection) -> Iterator[tuple[Table, int, int]]:
    for table in metadata.sorted_tables:
        name = counted_column(table)
        if name is not None:
            largest = connection.scalar(select(func.max(table.c[name]))) or 0
            if (given := last_number(connection, table)) < largest:
                yield table, given, largest
