"""The credit ledger: which calls were made of which network, hour by hour, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from dashboard.domain.credit import Spent
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import credit_ledger


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
    """Add up what was spent from an hour on, that which cost most first."""
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
