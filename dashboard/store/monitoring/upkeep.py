"""The installation's own records: credits and budgets, heartbeats, purges, backups, growth."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, and_, delete, func, or_, select, update

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.observation import Spent
from dashboard.domain.health.retention import (
    CONFIRMED_BY,
    ClockJump,
    StoreSize,
    growth_of,
    unconfirmed_jump,
)
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import database_of
from dashboard.store.engine.upsert import upsert, upsert_sums
from dashboard.store.schema import budget_spending, credit_ledger, installation, store_sizes
from dashboard.store.schema.columns import columns_of, read_as


class Upkeep(Struct, frozen=True):
    """When a purge was last completed, and when `linewatch backup` was; None: never."""

    purged_at: datetime | None = None
    backed_up_at: datetime | None = None


def last_upkeep(connection: Connection) -> Upkeep:
    return read_as(Upkeep, connection.execute(select(installation)).one(), installation)


def note_purge(connection: Connection, at: datetime) -> None:
    connection.execute(update(installation).values(purged_at=at))


def note_backup(connection: Connection, at: datetime) -> None:
    """Record that a backup was made and verified."""
    connection.execute(update(installation).values(backed_up_at=at))


class LedgerLine(Struct, frozen=True):
    """What one operation of one network cost in some period."""

    network_id: NetworkId
    operation: str
    spent: Spent


def record_credits(
    connection: Connection, network_id: NetworkId, at: datetime, spent: Mapping[str, Spent]
) -> None:
    """Add calls by operation to the hour in which they were made."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    rows = [
        columns_of(credit_ledger, each, hour=hour, network_id=network_id, operation=operation)
        for operation, each in spent.items()
    ]
    upsert_sums(connection, credit_ledger, rows)


def spent_since(connection: Connection, since: datetime) -> list[LedgerLine]:
    """Add up what was spent since an hour, the most expensive first."""
    column = credit_ledger.c
    calls, credits_ = func.sum(column.calls), func.sum(column.credits)
    query = (
        select(column.network_id, column.operation, calls, credits_)
        .where(column.hour >= since)
        .group_by(column.network_id, column.operation)
        .order_by(credits_.desc(), calls.desc(), column.network_id, column.operation)
    )
    return [
        LedgerLine(network_id, operation, Spent(int(calls_made), int(cost)))
        for network_id, operation, calls_made, cost in connection.execute(query)
    ]


_THOUSANDTHS: Final = 1000


def take_credits(
    connection: Connection,
    budget: str,
    at: datetime,
    amount: int,
    limits: Mapping[BudgetPeriod, int],
) -> bool:
    """Count credits as spent, if the limits of the day and of the month allow that."""
    _add_credits(connection, budget, at, amount)  # locks the rows, so that nobody takes beside us
    spent = spent_of(connection, budget, at)
    is_allowed = all(spent[period] <= limit for period, limit in limits.items())
    if not is_allowed:
        _add_credits(connection, budget, at, -amount)
    return is_allowed


def spent_of(connection: Connection, budget: str, at: datetime) -> dict[BudgetPeriod, int]:
    """Return the credits spent in the day and in the month of a moment."""
    return {period: row[0] for period, row in _budget_rows(connection, budget, at).items()}


def stretch_of(connection: Connection, budget: str, at: datetime) -> float:
    """Return how far polls last stretched on this day; 1 if they did not."""
    _, stretch = _budget_rows(connection, budget, at)[BudgetPeriod.DAY]
    return 1.0 if stretch is None else stretch / _THOUSANDTHS


def note_stretch(connection: Connection, budget: str, at: datetime, stretch: float) -> None:
    """Store how far polls stretch from now on."""
    _add_credits(connection, budget, at, 0)
    column = budget_spending.c
    today = (
        column.budget == budget,
        column.period == BudgetPeriod.DAY.value,
        column.begins_at == BudgetPeriod.DAY.begin(at),
    )
    values = {"stretch": round(stretch * _THOUSANDTHS)}
    connection.execute(update(budget_spending).where(*today).values(values))


def _add_credits(connection: Connection, budget: str, at: datetime, amount: int) -> None:
    rows = [
        {"budget": budget, "period": each.value, "begins_at": each.begin(at), "credits": amount}
        for each in BudgetPeriod
    ]
    upsert_sums(connection, budget_spending, rows)


def _budget_rows(
    connection: Connection, budget: str, at: datetime
) -> dict[BudgetPeriod, tuple[int, int | None]]:
    column = budget_spending.c
    now = (and_(column.period == it.value, column.begins_at == it.begin(at)) for it in BudgetPeriod)
    query = select(*column["period", "credits", "stretch"]).where(
        column.budget == budget, or_(*now)
    )
    found: dict[BudgetPeriod, tuple[int, int | None]] = dict.fromkeys(BudgetPeriod, (0, None))
    for row in connection.execute(query):
        found[BudgetPeriod(row.period)] = int(row.credits), row.stretch
    return found


class LastHeartbeat(Struct, frozen=True):
    """`accepted_at` is None if none was accepted yet; `trouble` is empty if the latest was.

    `trouble` is foreign text.
    """

    accepted_at: datetime | None = None
    trouble: str = ""


def last_heartbeat(connection: Connection) -> LastHeartbeat:
    row = connection.execute(select(installation)).one()
    return LastHeartbeat(row.heartbeat_at, row.heartbeat_trouble or "")


def note_heartbeat(connection: Connection, accepted_at: datetime) -> None:
    values = {"heartbeat_at": accepted_at, "heartbeat_trouble": None}
    connection.execute(update(installation).values(values))


def note_heartbeat_trouble(connection: Connection, trouble: str) -> None:
    connection.execute(update(installation).values(heartbeat_trouble=trouble))


_LOOKED_BACK: Final = timedelta(days=30)
"""Growth is measured over a month: recent growth shows, and a busy day does not dominate."""


def measure(connection: Connection, now: datetime) -> StoreSize:
    """Measure the store without a full scan."""
    used = database_of(connection).size(connection) - free_space(connection).inside
    return _with_growth(connection, now, used)


def last_measured(connection: Connection) -> StoreSize | None:
    """Return the last measured size and its growth; None before the first measurement."""
    column = store_sizes.c
    latest = select(column.measured_at, column.bytes).order_by(column.day.desc()).limit(1)
    row = connection.execute(latest).one_or_none()
    return None if row is None else _with_growth(connection, row.measured_at, row.bytes)


def clock_jump(connection: Connection, now: datetime) -> ClockJump | None:
    """Return how far the clock is ahead of the measurements, None if it is trusted."""
    column = store_sizes.c
    query = (
        select(column.measured_at)
        .where(column.day <= now, column.measured_at <= now)
        .order_by(column.day.desc())
        .limit(CONFIRMED_BY)
    )
    return unconfirmed_jump(connection.scalars(query).all(), now)


def record_size(connection: Connection, measured: StoreSize) -> None:
    """Store a measurement as that of its day, and drop those of a clock that was ahead."""
    at = measured.measured_at
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    connection.execute(delete(store_sizes).where(store_sizes.c.day > day))
    free = measured.free_on_disk
    row = {"day": day, "measured_at": at, "bytes": measured.bytes, "free": free}
    upsert(connection, store_sizes, [row])


def free_space_by_day(connection: Connection, until: datetime) -> list[tuple[datetime, int]]:
    """Return how many bytes were free on the disk at each measurement of 30 days, oldest first."""
    column = store_sizes.c
    query = (
        select(column.measured_at, column.free)
        .where(column.measured_at.between(until - _LOOKED_BACK, until), column.free.is_not(None))
        .order_by(column.day)
    )
    return [(row.measured_at, row.free) for row in connection.execute(query)]


def _with_growth(connection: Connection, at: datetime, used: int) -> StoreSize:
    column = store_sizes.c
    since = at - _LOOKED_BACK
    query = select(column.measured_at, column.bytes).order_by(column.measured_at)
    before = query.where(column.measured_at >= since, column.measured_at < at).limit(1)
    first = connection.execute(before).one_or_none()
    growth = None if first is None else growth_of((first.measured_at, first.bytes), (at, used))
    free = free_space(connection)
    return StoreSize(at, used, growth, free.inside, free.on_disk)


class FreeSpace(Struct, frozen=True):
    """Free bytes: inside the store itself, and on its disk if that is known."""

    inside: int = 0
    on_disk: int | None = None


def free_space(connection: Connection) -> FreeSpace:
    """Return the free bytes; none are known of a PostgreSQL server."""
    if connection.dialect.name == "postgresql":
        return FreeSpace()
    pages: int = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    page_size: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    path = Path(connection.engine.url.database or "")
    try:
        return FreeSpace(pages * page_size, shutil.disk_usage(path.parent).free)
    except OSError:
        return FreeSpace(pages * page_size)
