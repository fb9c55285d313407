"""A year of fees for the store under a benchmark of pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from sqlalchemy import Table, literal, select

from dashboard.domain.fees.gas import FeeSeries, FeeSuggestion, SuggestedGasFees
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.fees.stored_fees import row_of_suggested_fees
from dashboard.store.schema import fee_percentiles, fee_rollups, suggested_gas_fees
from dashboard.store.schema.columns import milliseconds_of, moment_of
from tests.bench.archive import insert_rows

RAW: Final = timedelta(days=14)
"""How long fees are kept as they were seen."""

_GWEI: Final = 10**9
_TIP: Final = 5
"""The priority fee is one part in so many of the base fee."""
_MARKED: Final = 75
"""Blocks from one percentile and threshold to the next: a quarter of an hour."""
_BUSY_ABOVE: Final = 2 * _GWEI
"""The threshold lies so far above the percentile."""


def copy_fees(connection: Connection, source: NetworkId, target: NetworkId) -> None:
    """Give a network the fees of another one, within the database."""
    for table in (fee_rollups, suggested_gas_fees, fee_percentiles):
        names = [column.name for column in table.columns if column.name != "network_id"]
        own = select(literal(target).label("network_id"), *(table.c[each] for each in names))
        chosen = own.where(table.c.network_id == source)
        connection.execute(table.insert().from_select(["network_id", *names], chosen))


def keep_year_of_fees(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> None:
    """Keep roll-ups of all the time, and of its end the single values that they are made of."""
    begin, end = milliseconds_of(since), milliseconds_of(until)
    at: Integers = np.arange(begin, end, 12_000, dtype=np.int64)
    fees = _fees_at(at)
    marked, levels = at[::_MARKED], fees[::_MARKED]
    for series, times, values in (
        (FeeSeries.ESTIMATED_BASE_FEE, at, fees),
        (FeeSeries.MEDIUM_MAX_PRIORITY_FEE, at, fees // _TIP),
        (FeeSeries.BASE_FEE_PERCENTILE, marked, levels),
        (FeeSeries.BUSY_THRESHOLD, marked, levels + _BUSY_ABOVE),
    ):
        import_fee_years(connection, network_id, series, times, values)
    raw_since = end - RAW // timedelta(milliseconds=1)
    seen = _pairs(at, fees, raw_since)
    insert_all(connection, suggested_gas_fees, (_seen(network_id, *each) for each in seen))
    for operation, above in (
        (Operation.BASE_FEE_PERCENTILE, 0),
        (Operation.BUSY_THRESHOLD, _BUSY_ABOVE),
    ):
        marks = _pairs(marked, levels + above, raw_since)
        rows = (_mark(network_id, operation, *each) for each in marks)
        insert_all(connection, fee_percentiles, rows)


def _fees_at(at: Integers) -> Integers:
    hours = at / 3_600_000
    noise = np.random.default_rng(5).normal(0, 0.4, len(at))
    gwei = 10 + 3 * np.sin(hours / 24 * 2 * np.pi) + noise
    fees: Integers = (np.maximum(gwei, 0.1) * _GWEI).astype(np.int64)
    return fees


def _pairs(at: Integers, fees: Integers, since: int) -> Iterator[tuple[int, int]]:
    """Yield each time from `since` on with its fee."""
    is_raw = at >= since
    return zip(at[is_raw].tolist(), fees[is_raw].tolist(), strict=True)


def _seen(network_id: NetworkId, at: int, fee: int) -> dict[str, Any]:
    tip = fee // _TIP
    level = FeeSuggestion(Wei(tip), Wei(fee + tip), timedelta(0), timedelta(seconds=30))
    fees = SuggestedGasFees(
        low=level,
        medium=level,
        high=level,
        estimated_base_fee=Wei(fee),
        network_congestion=0.5,
        latest_priority_fee_range=(Wei(1), Wei(2)),
        historical_priority_fee_range=(Wei(1), Wei(2)),
        historical_base_fee_range=(Wei(1), Wei(2)),
        priority_fee_trend="up",
        base_fee_trend="up",
    )
    key = {"network_id": network_id, "asked_at": moment_of(at), "source": "gas API"}
    return key | row_of_suggested_fees(fees)


def _mark(network_id: NetworkId, operation: Operation, at: int, fee: int) -> dict[str, Any]:
    return {
        "network_id": network_id,
        "operation": operation,
        "asked_at": moment_of(at),
        "fee": Wei(fee),
        "source": "gas API",
    }


def insert_all(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows past SQLAlchemy, many times faster."""
    driver: Any = connection.connection.driver_connection
    insert_rows(driver, table, rows)
