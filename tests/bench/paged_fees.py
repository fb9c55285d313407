"""A year of fees for the store under a benchmark of pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from sqlalchemy import Table

from dashboard.domain.fee_rollup import FeeSeries
from dashboard.domain.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.connection import Connection
from dashboard.store.fee_arrays import Integers
from dashboard.store.fee_history import keep_fee_history
from dashboard.store.fee_rows import row_of_fees
from dashboard.store.schema import fee_marks, suggested_gas_fees
from tests.bench.archive import insert_rows

RAW: Final = timedelta(days=14)
"""How long fees are kept as they were seen."""

_GWEI: Final = 10**9


def keep_year_of_fees(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> None:
    """Keep roll-ups of all the time, and single values of its last two weeks."""
    begin, end = milliseconds_of(since), milliseconds_of(until)
    at: Integers = np.arange(begin, end, 12_000, dtype=np.int64)
    fees = _fees_at(at)
    for series in FeeSeries:
        keep_fee_history(connection, network_id, series, at, fees)
    raw = at[at >= end - RAW // timedelta(milliseconds=1)]
    rows = zip(raw.tolist(), _fees_at(raw).tolist(), strict=True)
    insert_all(connection, suggested_gas_fees, (_seen(network_id, *row) for row in rows))
    marks = raw[::75]
    insert_all(
        connection,
        fee_marks,
        (
            {
                "network_id": network_id,
                "operation": operation,
                "asked_at": moment_of(each),
                "fee": Wei(12 * _GWEI),
                "source": "gas API",
            }
            for operation in (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)
            for each in marks.tolist()
        ),
    )


def _fees_at(at: Integers) -> Integers:
    hours = at / 3_600_000
    noise = np.random.default_rng(5).normal(0, 0.4, len(at))
    gwei = 10 + 3 * np.sin(hours / 24 * 2 * np.pi) + noise
    fees: Integers = (np.maximum(gwei, 0.1) * _GWEI).astype(np.int64)
    return fees


def _seen(network_id: NetworkId, at: int, fee: int) -> dict[str, Any]:
    level = FeeSuggestion(Wei(2 * _GWEI), Wei(fee + 2 * _GWEI), timedelta(0), timedelta(seconds=30))
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
    return key | row_of_fees(fees)


def insert_all(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows past SQLAlchemy, many times faster."""
    driver: Any = connection.connection.driver_connection
    insert_rows(driver, table, rows)
