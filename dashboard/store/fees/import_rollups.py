"""Years of fees put into a store at once: straight into roll-ups, without the single values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeSeries, Level
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.bulk import insert_many
from dashboard.store.fees.array_rollups import FeeArrays, Integers
from dashboard.store.fees.rollup_rows import begins_between
from dashboard.store.fees.values import SeriesOf
from dashboard.store.schema import fee_rollups

_DAYS_AT_ONCE: Final = 16


def keep_fee_history(
    connection: Connection, network_id: NetworkId, series: FeeSeries, at: Integers, fees: Integers
) -> None:
    """Roll up whole days of fees (wei) by time (milliseconds since the epoch, ascending).

    A day of which anything is known stays as it is, so the same days again change nothing.
    ValueError where times do not ascend or a fee is negative.
    """
    if len(at) != len(fees) or (np.diff(at) <= 0).any() or (fees < 0).any():
        raise ValueError("a history has as many fees as times, which ascend, and none below zero")
    of = SeriesOf(network_id, series)
    for begin, end in _unknown(connection, of, at):
        arrays = FeeArrays(at[begin:end], fees[begin:end])
        for level in Level:
            insert_many(connection, fee_rollups, arrays.rows(network_id, series, level))


def _unknown(connection: Connection, of: SeriesOf, at: Integers) -> Iterator[tuple[int, int]]:
    """Yield where in `at` stretches of days begin and end that are unknown, few days at a time."""
    if not len(at):
        return
    begins = at - at % Level.DAY.length
    starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
    days = begins[starts]
    known = begins_between(connection, of, Level.DAY, int(days[0]), int(days[-1]) + 1)
    is_known = np.isin(days, known)
    cuts = np.flatnonzero(np.diff(is_known, prepend=not is_known[0]))
    for first, last in zip(cuts, [*cuts[1:], len(days)], strict=True):
        for some in range(first, last if not is_known[first] else first, _DAYS_AT_ONCE):
            after = min(some + _DAYS_AT_ONCE, last)
            yield int(starts[some]), int(starts[after]) if after < len(days) else len(at)
