"""The size of the store: how many bytes it takes and has free, and how it grew, day by day."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, delete, select

from dashboard.domain.health.retention import StoreSize, growth_of
from dashboard.domain.health.troubles import CONFIRMED_BY, ClockJump, unconfirmed_jump
from dashboard.store.engine.engine import database_of
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import store_sizes

_LOOKED_BACK: Final = timedelta(days=30)
"""Growth is that of a month: what began since shows, and a busy day does not rule."""


def measure(connection: Connection, now: datetime) -> StoreSize:
    """Measure the store, without reading it through."""
    used = database_of(connection).size(connection) - free_space(connection).inside
    return _with_growth(connection, now, used)


def last_measured(connection: Connection) -> StoreSize | None:
    """Return the last measured size and its growth; None before the first time."""
    column = store_sizes.c
    latest = select(column.measured_at, column.bytes).order_by(column.day.desc()).limit(1)
    row = connection.execute(latest).one_or_none()
    return None if row is None else _with_growth(connection, row.measured_at, row.bytes)


def clock_jump(connection: Connection, now: datetime) -> ClockJump | None:
    """Return by how much the clock went ahead of the measurements, None if it is trusted."""
    column = store_sizes.c
    query = (
        select(column.measured_at)
        .where(column.day <= now, column.measured_at <= now)
        .order_by(column.day.desc())
        .limit(CONFIRMED_BY)
    )
    return unconfirmed_jump(connection.scalars(query).all(), now)


def record_size(connection: Connection, measured: StoreSize) -> None:
    """Keep a measurement as the one of its day; what a clock measured that was ahead is gone."""
    at = measured.measured_at
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    connection.execute(delete(store_sizes).where(store_sizes.c.day > day))
    row = {"day": day, "measured_at": at, "bytes": measured.bytes}
    upsert(connection, store_sizes, [row])


def _with_growth(connection: Connection, at: datetime, used: int) -> StoreSize:
    column = store_sizes.c
    since = at - _LOOKED_BACK
    query = select(column.measured_at, column.bytes).order_by(column.measured_at)
    before = query.where(column.measured_at >= since, column.measured_at < at).limit(1)
    first = connection.execute(before).one_or_none()
    growth = None if first is None else growth_of((first.measured_at, first.bytes), (at, used))
    free = free_space(connection)
    return StoreSize(at, used, growth, free.inside, free.on_disk)


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """Bytes that are free: inside the store itself, and on its disk where that is known."""

    inside: int = 0
    on_disk: int | None = None


def free_space(connection: Connection) -> FreeSpace:
    """Return the bytes that are free; none are known of a PostgreSQL server."""
    if connection.dialect.name == "postgresql":
        return FreeSpace()
    pages: int = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    page_size: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    path = Path(connection.engine.url.database or "")
    try:
        return FreeSpace(pages * page_size, shutil.disk_usage(path.parent).free)
    except OSError:
        return FreeSpace(pages * page_size)
