"""Arrays of fees are rolled up exactly as the same fees are one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.rollup import FeeSeries, RollupLevel, TimedFee
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.store.fees.rollup_arrays import FeeArrays
from dashboard.store.fees.rollups import row_of
from dashboard.store.fees.stored_fees import SeriesKey
from tests.builders import A_NETWORK
from tests.rolled_up_series import roll_up

OF = SeriesKey(A_NETWORK, FeeSeries.BUSY_THRESHOLD)
A_DAY = RollupLevel.DAY.length
FEES = st.integers(0, LARGEST_FEE) | st.integers(0, 300) | st.sampled_from([2**53 - 1, 2**62])
SERIES = st.dictionaries(st.integers(0, A_DAY // 8) | st.integers(0, 3 * A_DAY), FEES, min_size=1)


def stored_form(
    of: SeriesKey, series: dict[int, int], level: RollupLevel
) -> list[tuple[object, ...]]:
    """Return what the rows of a series are, rolled up one by one, as a driver takes them."""
    values = (TimedFee(at, Wei(fee)) for at, fee in sorted(series.items()))
    return [row_of(of, each) for each in roll_up(values) if each.level is level]


@pytest.mark.parametrize("level", RollupLevel)
@given(series=SERIES)
def test_arrays_are_rolled_up_as_one_by_one(level: RollupLevel, series: dict[int, int]) -> None:
    at = np.array(sorted(series), np.int64)
    fees = np.array([series[each] for each in sorted(series)], np.int64)

    rows = FeeArrays(at, fees).rows(*OF, level)

    assert rows == stored_form(OF, series, level)


@pytest.mark.parametrize(("count", "width"), [(255, 1), (256, 2), (65_536, 4)])
def test_many_equal_fees_are_counted_in_wider_numbers(count: int, width: int) -> None:
    series = dict.fromkeys(range(count), 7)
    arrays = FeeArrays(np.arange(count), np.full(count, 7))

    [row] = arrays.rows(*OF, RollupLevel.DAY)

    assert [row] == stored_form(OF, series, RollupLevel.DAY)
    assert row[-1][0] == width
