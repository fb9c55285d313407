"""Purge fees network by network, the oldest first: raw ones, then minutes of roll-ups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Column, Connection, Table, delete, select

from dashboard.domain.fees.rollup import RollupLevel
from dashboard.store.engine.batching import AdaptiveBatches, after_row
from dashboard.store.engine.engine import Store
from dashboard.store.schema import (
    estimated_base_fees,
    fee_percentiles,
    fee_rollups,
    suggested_gas_fees,
)
from dashboard.store.schema.columns import milliseconds_of

_RAW: Final = (suggested_gas_fees, estimated_base_fees, fee_percentiles)


def purge_fees(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete fees that were seen before a whole minute; its roll-ups stay."""
    for table in _RAW:
        for places in _series_of(store, table):
            yield from _purge(store, table, places, before, pace)


def purge_fee_minutes(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete roll-ups of minutes before a whole hour; those of hours and days stay for good."""
    for places in _series_of(store, fee_rollups):
        if places[-1] == RollupLevel.MINUTE:
            yield from _purge(store, fee_rollups, places, milliseconds_of(before), pace)


def _purge(
    store: Store, table: Table, places: Sequence[Any], before: datetime | int, pace: AdaptiveBatches
) -> Iterator[int]:
    *within, dated = table.primary_key
    mine = [column == place for column, place in zip(within, places, strict=True)]
    old = select(dated).where(*mine, dated < before).order_by(dated)
    deleted = 1
    while deleted:
        with pace.writing(store) as connection:
            nth = connection.scalar(old.offset(pace.rows - 1).limit(1))
            last = dated < before if nth is None else dated <= nth
            deleted = connection.execute(delete(table).where(*mine, last)).rowcount
        yield deleted


def _series_of(store: Store, table: Table) -> list[Sequence[Any]]:
    """Return the values that stand before the time in the primary key, each combination once.

    By one look into the index for each: a table of fees is never read through for this.
    """
    within = list(table.primary_key)[:-1]
    found: list[Sequence[Any]] = []
    with store.read() as connection:
        while (following := _following(connection, within, found)) is not None:
            found.append(following)
    return found


def _following(
    connection: Connection, within: Sequence[Column[Any]], found: Sequence[Sequence[Any]]
) -> Sequence[Any] | None:
    last = found[-1] if found else None
    query = select(*within).where(*after_row(within, last)).order_by(*within).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else tuple(row)
