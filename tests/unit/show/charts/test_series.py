"""Series for charts: no peak lost, no silence bridged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from dashboard.domain.quantity import Wei
from dashboard.show.charts.series import MOST_POINTS, fee_frame
from dashboard.store.observations import BaseFeePoint

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STEP = timedelta(seconds=4)


def points(*seconds_and_fees: tuple[float, int]) -> list[BaseFeePoint]:
    """Return observed base fees at seconds after the start."""
    return [
        BaseFeePoint(START + timedelta(seconds=seconds), Wei(fee), is_time_estimated=False)
        for seconds, fee in seconds_and_fees
    ]


def steady(count: int) -> list[BaseFeePoint]:
    """Return fees of 100 wei every four seconds."""
    return points(*((4 * number, 100) for number in range(count)))


def test_steady_series_has_no_gap() -> None:
    series = steady(10)

    frame = fee_frame(series, 3 * STEP, series[-1].at)

    assert frame["base_fee"].tolist() == [100.0] * 10


def test_silence_becomes_an_empty_value_right_after_the_last_one() -> None:
    series = points((0, 1), (4, 2), (40, 3))

    frame = fee_frame(series, 3 * STEP, series[-1].at)

    assert np.isnan(frame["base_fee"]).tolist() == [False, False, True, False]
    assert frame.index[2] - frame.index[1] == timedelta(milliseconds=1)


def test_silence_until_now_is_a_gap_too() -> None:
    series = steady(3)

    frame = fee_frame(series, 3 * STEP, series[-1].at + timedelta(minutes=5))

    assert np.isnan(frame["base_fee"].iloc[-1])


def test_step_as_long_as_allowed_is_no_gap() -> None:
    series = points((0, 1), (12, 2))

    frame = fee_frame(series, 3 * STEP, series[-1].at)

    assert not frame["base_fee"].isna().any()


def test_long_series_is_thinned_without_losing_its_extremes() -> None:
    series = steady(20_000)
    series[7_777] = series[7_777]._replace(base_fee=Wei(999))
    series[13_131] = series[13_131]._replace(base_fee=Wei(1))

    frame = fee_frame(series, 3 * STEP, series[-1].at)

    assert len(frame) <= MOST_POINTS
    assert (frame["base_fee"].min(), frame["base_fee"].max()) == (1.0, 999.0)


def test_thinning_makes_no_gaps_of_its_own() -> None:
    series = steady(20_000)

    frame = fee_frame(series, 3 * STEP, series[-1].at)

    assert not frame["base_fee"].isna().any()


def test_long_silence_survives_thinning() -> None:
    series = [point for point in steady(20_000) if not 9_000 <= (point.at - START) / STEP < 10_000]

    frame = fee_frame(series, 3 * STEP, series[-1].at)

    assert frame["base_fee"].isna().sum() == 1


def test_points_out_of_order_are_put_in_order() -> None:
    frame = fee_frame(points((8, 3), (0, 1), (4, 2)), 3 * STEP, START + timedelta(seconds=8))

    assert frame["base_fee"].tolist() == [1.0, 2.0, 3.0]


def test_estimated_times_are_marked() -> None:
    series = [point._replace(is_time_estimated=True) for point in steady(1)]

    frame = fee_frame(series, STEP, START)

    assert frame["is_time_estimated"].tolist() == [True]
