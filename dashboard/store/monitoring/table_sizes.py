"""How many rows and bytes each table has, as each database tells it.

PostgreSQL knows. SQLite tells where it was built with its table `dbstat`, as most systems do: that
reads every page once. Elsewhere bytes are estimated from a sample of rows, and said to be.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Table, func, select

from dashboard.store.schema import metadata

_SAMPLED: Final = 1000
_OF_ROW: Final = 12
"""Bytes that a row takes in a page besides its values, and likewise its place in an index."""

_PAGES: Final = """
SELECT coalesce(m.tbl_name, s.name), s.name = coalesce(m.tbl_name, s.name),
    sum(s.pgsize), sum(CASE s.pagetype WHEN 'leaf' THEN s.ncell ELSE 0 END),
    sum(CASE s.pagetype WHEN 'internal' THEN s.ncell ELSE 0 END)
FROM dbstat s LEFT JOIN sqlite_master m ON m.name = s.name
GROUP BY s.name
"""
_RELATIONS: Final = """
SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
WHERE c.relkind IN ('r', 'm') AND c.relnamespace = current_schema()::regnamespace
"""


@dataclass(frozen=True, slots=True)
class TableSize:
    """What one table takes, with its indexes."""

    rows: int
    bytes: int
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that are free: inside the store itself, and on its disk where that is known."""

    inside: int = 0
    on_disk: int | None = None


def table_sizes(connection: Connection) -> dict[str, TableSize]:
    """Measure every table; reads all of a large store, so seldom."""
    if connection.dialect.name == "postgresql":
        return {
            name: TableSize(_rows(connection, metadata.tables.get(name)), taken)
            for name, taken in connection.exec_driver_sql(_RELATIONS)
        }
    knows = "SELECT count(*) FROM pragma_module_list WHERE name = 'dbstat'"
    if connection.exec_driver_sql(knows).scalar():
        return _pages(connection)
    return estimated_sizes(connection)


def room(connection: Connection) -> Room:
    """Return how much there is room for."""
    if connection.dialect.name == "postgresql":
        return Room()
    pages = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    inside = pages * _page_size(connection)
    path = Path(connection.engine.url.database or "")
    try:
        return Room(inside, shutil.disk_usage(path.parent).free)
    except OSError:
        return Room(inside)


def estimated_sizes(connection: Connection) -> dict[str, TableSize]:
    """Share the pages that are used among the tables, by rows and the length of some of them."""
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    tables = {table.name: table for table in metadata.tables.values()}
    rows = {name: _rows(connection, table) for name, table in tables.items()}
    weights = {name: rows[name] * _width(connection, table) for name, table in tables.items()}
    scale = (pages - free) * _page_size(connection) / (sum(weights.values()) or 1)
    return {
        name: TableSize(rows[name], int(weight * scale), is_estimated=True)
        for name, weight in weights.items()
    }


def _pages(connection: Connection) -> dict[str, TableSize]:
    sizes: dict[str, TableSize] = {}
    for name, is_table, taken, in_leaves, inside in connection.exec_driver_sql(_PAGES):
        before = sizes.get(name, TableSize(0, 0))
        rows = before.rows
        if is_table:
            rows = in_leaves + (inside if _holds_rows_inside(name) else 0)
        sizes[name] = TableSize(rows, before.bytes + taken)
    return sizes


def _holds_rows_inside(name: str) -> bool:
    """Whether inner pages hold rows too, as in tables without row ids."""
    table = metadata.tables.get(name)
    return table is not None and table.dialect_options["sqlite"]["with_rowid"] is False


def _width(connection: Connection, table: Table) -> float:
    """Return the bytes that a row seems to take, with its places in the indexes."""
    names = [column.name for column in table.columns]
    lengths = {
        name: func.coalesce(func.avg(func.length(column)), 0).label(name)
        for name, column in select(*table.columns).limit(_SAMPLED).subquery().c.items()
    }
    found = connection.execute(select(*lengths.values())).mappings().one()
    indexed = [[column.name for column in index.columns] for index in table.indexes]
    return sum(sum(float(found[each]) for each in some) + _OF_ROW for some in (names, *indexed))


def _rows(connection: Connection, table: Table | None) -> int:
    if table is None:
        return 0
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _page_size(connection: Connection) -> int:
    size: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    return size
