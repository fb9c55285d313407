"""How many rejections arrived on each day, kept by the transaction that inserts or deletes them.

A day begins at midnight in UTC. One rejection adds to one row; many that arrive together share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    delete,
    func,
    insert,
    select,
    type_coerce,
)

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import rejection_days, rejections
from dashboard.store.schema.columns import milliseconds_of, moment_of

DAY_LENGTH: Final = 86_400_000
"""Milliseconds."""

_NAMES: Final = tuple(column.name for column in rejection_days.columns)


def count_inserted(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Count rows of `rejections` that this transaction has inserted."""
    counts = Counter(
        (
            milliseconds_of(row["first_seen_at"]) // DAY_LENGTH * DAY_LENGTH,
            row["module"] or "",
            row["reason_kind"],
            row["tx_rejection_stage"],
            row["network_id"],
        )
        for row in rows
    )
    _add(connection, [(*key, many) for key, many in counts.items()])


def count_deleted(connection: Connection, rejection_ids: Sequence[int]) -> None:
    """Subtract rejections, before this transaction deletes them."""
    counted = connection.execute(recounted_days(rejections.c.rejection_id.in_(rejection_ids)))
    rows = [(*key, -many) for *key, many in counted]
    _add(connection, rows)
    column = rejection_days.c
    days = {moment_of(day) for day, *_ in rows}
    connection.execute(delete(rejection_days).where(column.day.in_(days), column.many == 0))


def counted_on(
    connection: Connection, day: datetime, most: int
) -> dict[tuple[NetworkId, str, RejectionStage], int]:
    """Return the rejections of a day by network, module and stage, those with most of them.

    The module, which is foreign text, is empty where the reason names none.
    """
    column = rejection_days.c
    key = (column.network_id, column.module, column.tx_rejection_stage)
    many = func.sum(column.many)
    query = select(*key, many).where(column.day == day).group_by(*key)
    rows = connection.execute(query.order_by(many.desc(), *key).limit(most))
    return {(on, module, RejectionStage(stage)): int(count) for on, module, stage, count in rows}


def rebuild_counters(connection: Connection) -> None:
    """Count all rejections again, after inserts without `count_inserted`; seconds for a million."""
    connection.execute(delete(rejection_days))
    connection.execute(insert(rejection_days).from_select(_NAMES, recounted_days()))


def recounted_days(*which: ColumnElement[bool]) -> Select[Any]:
    """Select the counters of the rejections that fit `which`, with all columns in order."""
    column = rejections.c
    arrived = type_coerce(column.first_seen_at, BigInteger)
    keys = (
        (arrived - arrived % DAY_LENGTH).label("day"),
        func.coalesce(column.module, "").label("module"),
        column.reason_kind,
        column.tx_rejection_stage,
        column.network_id,
    )
    return select(*keys, func.count().label("many")).where(*which).group_by(*keys)


def _add(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    sums = (dict(zip(_NAMES, row, strict=True)) for row in rows)
    upsert_sums(connection, rejection_days, [row | {"day": moment_of(row["day"])} for row in sums])
