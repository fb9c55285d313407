"""The installation's own records: calls and their credits, heartbeats, purges and backups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, update

from dashboard.domain.health.observation import Spent
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import credit_ledger, installation


@dataclass(frozen=True, slots=True)
class Upkeep:
    """When a purge last came to its end, and when `linewatch backup` did; None: never yet."""

    purged_at: datetime | None = None
    backed_up_at: datetime | None = None


def last_upkeep(connection: Connection) -> Upkeep:
    """Return what is stored of it."""
    column = installation.c
    row = connection.execute(select(column.purged_at, column.backed_up_at)).first()
    return Upkeep() if row is None else Upkeep(row.purged_at, row.backed_up_at)


def note_purge(connection: Connection, at: datetime) -> None:
    """Store that everything that is old was purged."""
    connection.execute(update(installation).values(purged_at=at))


def note_backup(connection: Connection, at: datetime) -> None:
    """Store that a backup was made and verified."""
    connection.execute(update(installation).values(backed_up_at=at))


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What one operation of one network cost in some time."""

    network_id: NetworkId
    operation: str
    spent: Spent


def record_credits(
    connection: Connection, network_id: NetworkId, at: datetime, spent: Mapping[str, Spent]
) -> None:
    """Add calls by operation to the hour in which they were made."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    rows = [
        {
            "hour": hour,
            "network_id": network_id,
            "operation": operation,
            "calls": each.calls,
            "credits": each.credits,
        }
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


@dataclass(frozen=True, slots=True)
class LastHeartbeat:
    """`accepted_at` is None if none was accepted yet; `trouble` is empty if the latest was.

    `trouble` holds foreign text.
    """

    accepted_at: datetime | None = None
    trouble: str = ""


def last_heartbeat(connection: Connection) -> LastHeartbeat:
    """Return what is stored of it."""
    column = installation.c
    row = connection.execute(select(column.heartbeat_at, column.heartbeat_trouble)).first()
    if row is None:
        return LastHeartbeat()
    return LastHeartbeat(row.heartbeat_at, row.heartbeat_trouble or "")


def note_heartbeat(connection: Connection, accepted_at: datetime) -> None:
    """Store that it was accepted."""
    values = {"heartbeat_at": accepted_at, "heartbeat_trouble": None}
    connection.execute(update(installation).values(values))


def note_heartbeat_trouble(connection: Connection, trouble: str) -> None:
    """Store why the latest was not accepted."""
    connection.execute(update(installation).values(heartbeat_trouble=trouble))
