"""What is silent now, so that rules that rest on it cannot be judged."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, or_, select

from dashboard.domain.condition import State, SubjectKind
from dashboard.domain.gas import GasSource
from dashboard.domain.muting import SOURCES, SilentSource
from dashboard.domain.quantity import NetworkId
from dashboard.store.schema import conditions, suggested_gas_fees

_REPLACED_FOR: Final = timedelta(minutes=5)
"""How long fees that a node gave instead count as known."""


def silent_sources(connection: Connection, now: datetime) -> list[SilentSource]:
    """Return the APIs that are silent and the networks whose fees are stale, APIs first."""
    column = conditions.c
    of_kinds = or_(*(column.subject.between(f"{kind}:", f"{kind};") for kind in SOURCES))
    is_silent = column.state.in_([State.SILENT, State.STALE])
    query = select(column.kind, column.network_id, column.since).where(of_kinds, is_silent)
    found = [
        SilentSource(
            SubjectKind(row.kind),
            row.network_id,
            row.since,
            row.kind == SubjectKind.GAS_API and _is_replaced(connection, row.network_id, now),
        )
        for row in connection.execute(query)
    ]
    return sorted(found, key=lambda each: (SOURCES.index(each.kind), each.network_id))


def _is_replaced(connection: Connection, network_id: NetworkId, now: datetime) -> bool:
    column = suggested_gas_fees.c
    lately = (column.network_id == network_id, column.asked_at > now - _REPLACED_FOR)
    query = select(column.source).where(*lately, column.asked_at <= now)
    latest = connection.scalar(query.order_by(column.asked_at.desc()).limit(1))
    return bool(latest == GasSource.NODE_INSTEAD)
