"""The size of the store: of its disk and tables now, and of kinds of data as measured daily."""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Row, Table, delete, func, select

from dashboard.domain.health.retention import KindSize, StoreKind, StoreSize, growth_of
from dashboard.domain.health.troubles import CONFIRMED_BY, ClockJump, unconfirmed_jump
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import metadata, store_growth

_LOOKED_BACK: Final = timedelta(days=30)
"""Growth is that of a month: what began since shows, and a busy day does not rule."""

_TABLES: Final = {
    StoreKind.FEES: {"suggested_gas_fees", "estimated_base_fees", "fee_percentiles"}
    | {"base_fee_histories", "busy_spells"},
    StoreKind.FEE_ROLLUPS: {"fee_rollups"},
    StoreKind.REJECTIONS: {"rejections", "signed_transactions", "rejection_days"},
    StoreKind.TRACKED: {"tracked_hashes", "cohorts", "watched_cohorts", "checks", "follow_ups"}
    | {"watched_senders", "last_answers", "tracked_labels", "saved_lookups"}
    | {"tracked_tags", "saved_filters"},
    StoreKind.NOTIFICATIONS: {"notifications", "deliveries", "outbox", "transitions", "conditions"}
    | {"silences", "mail_outages", "addresses_off", "suspect_addresses", "recipients"}
    | {"incidents", "incident_transitions", "incident_events"}
    | {"notification_members", "notification_incidents"},
    StoreKind.AUDIT_LOG: {"audit_log"},
    StoreKind.CREDITS: {"credit_ledger"},
    StoreKind.COVERAGE_GAPS: {"coverage_gaps"},
}
_COUNTED: Final = {
    "suggested_gas_fees": StoreKind.FEES,
    "fee_rollups": StoreKind.FEE_ROLLUPS,
    "rejections": StoreKind.REJECTIONS,
    "tracked_hashes": StoreKind.TRACKED,
    "notifications": StoreKind.NOTIFICATIONS,
    "audit_log": StoreKind.AUDIT_LOG,
    "credit_ledger": StoreKind.CREDITS,
    "coverage_gaps": StoreKind.COVERAGE_GAPS,
}
"""The table whose rows are what people count as the kind."""


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


def measure(connection: Connection, now: datetime) -> StoreSize:
    """Measure the store; a gigabyte takes some seconds, in which others go on."""
    sizes = table_sizes(connection)
    kinds = _by_kind(sizes)
    return _with_growth(connection, StoreSize(now, kinds))


def last_measured(connection: Connection) -> StoreSize | None:
    """Return what was measured last, and how it grew; None before the first time.

    This reads a few rows, however large the store is.
    """
    latest: datetime | None = connection.scalar(
        select(store_growth.c.measured_at).order_by(store_growth.c.day.desc()).limit(1)
    )
    if latest is None:
        return None
    of_day = select(store_growth).where(store_growth.c.measured_at == latest)
    kinds = tuple(
        KindSize(StoreKind(row.kind), row.rows, row.bytes, row.is_estimated)
        for row in sorted(connection.execute(of_day), key=_place)
    )
    return _with_growth(connection, StoreSize(latest, kinds))


def clock_jump(connection: Connection, now: datetime) -> ClockJump | None:
    """Return by how much the clock went ahead of the measurements, None where it is trusted."""
    column = store_growth.c
    query = (
        select(column.measured_at)
        .where(column.kind == StoreKind.OTHER.value, column.day <= now, column.measured_at <= now)
        .order_by(column.day.desc())
        .limit(CONFIRMED_BY)
    )
    return unconfirmed_jump(connection.scalars(query).all(), now)


def record_size(connection: Connection, measured: StoreSize) -> None:
    """Keep a measurement as the one of its day; what a clock measured that was ahead is gone."""
    at = measured.measured_at
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    connection.execute(delete(store_growth).where(store_growth.c.day > day))
    common = {"day": day, "measured_at": at}
    upsert(
        connection,
        store_growth,
        [
            common
            | {"kind": each.kind.value, "rows": each.rows, "bytes": each.bytes}
            | {"is_estimated": each.is_estimated}
            for each in measured.kinds
        ],
    )


def _by_kind(sizes: dict[str, TableSize]) -> tuple[KindSize, ...]:
    kind_of = {table: kind for kind, tables in _TABLES.items() for table in tables}
    taken: defaultdict[StoreKind, int] = defaultdict(int)
    rows: defaultdict[StoreKind, int] = defaultdict(int)
    for table, size in sizes.items():
        kind = kind_of.get(table, StoreKind.OTHER)
        taken[kind] += size.bytes
        if _COUNTED.get(table, StoreKind.OTHER) is kind:
            rows[kind] += size.rows
    is_estimated = any(size.is_estimated for size in sizes.values())
    return tuple(KindSize(kind, rows[kind], taken[kind], is_estimated) for kind in StoreKind)


def _with_growth(connection: Connection, size: StoreSize) -> StoreSize:
    column = store_growth.c
    since = size.measured_at - _LOOKED_BACK
    query = select(column.kind, column.measured_at, column.bytes).order_by(column.measured_at)
    before = query.where(column.measured_at >= since, column.measured_at < size.measured_at)
    earlier: defaultdict[str, list[tuple[datetime, int]]] = defaultdict(list)
    for row in connection.execute(before):
        earlier[row.kind].append((row.measured_at, row.bytes))
    free = free_space(connection)
    kinds = tuple(
        KindSize(
            each.kind,
            each.rows,
            each.bytes,
            each.is_estimated,
            growth_of(earlier[each.kind], (size.measured_at, each.bytes)),
        )
        for each in size.kinds
    )
    return StoreSize(size.measured_at, kinds, free.inside, free.on_disk)


def _place(row: Row[Any]) -> int:
    return list(StoreKind).index(StoreKind(row.kind))


@dataclass(frozen=True, slots=True)
class TableSize:
    """What one table takes, with its indexes."""

    rows: int
    bytes: int
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class FreeSpace:
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


def free_space(connection: Connection) -> FreeSpace:
    """Return the bytes that are free; none are known of a PostgreSQL server."""
    if connection.dialect.name == "postgresql":
        return FreeSpace()
    pages = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    inside = pages * _page_size(connection)
    path = Path(connection.engine.url.database or "")
    try:
        return FreeSpace(inside, shutil.disk_usage(path.parent).free)
    except OSError:
        return FreeSpace(inside)


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
