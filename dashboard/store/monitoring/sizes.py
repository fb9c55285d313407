"""The size of the store by kinds of data: measured once a day, and read without measuring."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, select

from dashboard.domain.clock_jump import CONFIRMED_BY, ClockLeap, unconfirmed_leap
from dashboard.domain.store_size import KindSize, StoreKind, StoreSize, growth_of
from dashboard.store.engine.upsert import put
from dashboard.store.monitoring.table_sizes import TableSize, room, table_sizes
from dashboard.store.schema import store_growth

_LOOKED_BACK: Final = timedelta(days=30)
"""Growth is that of a month: what began since shows, and a busy day does not rule."""

_TABLES: Final = {
    StoreKind.FEES: {"suggested_gas_fees", "estimated_base_fees", "fee_marks"}
    | {"base_fee_histories"},
    StoreKind.FEE_ROLLUPS: {"fee_rollups"},
    StoreKind.REJECTIONS: {"rejections", "signed_transactions", "rejection_counters"}
    | {"rejection_modules", "rejection_senders", "sender_counters"},
    StoreKind.TRACKED: {"tracked_hashes", "cohorts", "watched_cohorts", "checks", "follow_ups"}
    | {"watched_senders", "last_answers", "tracked_labels", "saved_lookups"},
    StoreKind.NOTIFICATIONS: {"notifications", "deliveries", "outbox", "transitions", "conditions"},
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


def clock_leap(connection: Connection, now: datetime) -> ClockLeap | None:
    """Return by how much the clock went ahead of the measurements, None where it is trusted."""
    column = store_growth.c
    query = (
        select(column.measured_at)
        .where(column.kind == StoreKind.OTHER.value, column.day <= now, column.measured_at <= now)
        .order_by(column.day.desc())
        .limit(CONFIRMED_BY)
    )
    return unconfirmed_leap(connection.scalars(query).all(), now)


def note_size(connection: Connection, measured: StoreSize) -> None:
    """Keep a measurement as the one of its day; what a clock measured that was ahead is gone."""
    at = measured.measured_at
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    connection.execute(delete(store_growth).where(store_growth.c.day > day))
    common = {"day": day, "measured_at": at}
    put(
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
    free = room(connection)
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
