"""The figures behind a chart: readable as a table, exact as CSV."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np

from dashboard.application.fee_listing import fee_csv
from dashboard.show.charts.fee_chart import fee_table
from tests.builders import A_MOMENT, A_NETWORK, GWEI
from tests.unit.show.fee_timelines import a_step, a_timeline, busy


def test_table_shows_the_newest_step_first_in_the_fitting_unit() -> None:
    table = fee_table(a_timeline(2 * GWEI, 3 * GWEI, threshold=np.full(2, 2 * GWEI)))

    assert list(table["Mean, gwei"]) == [3.0, 2.0]
    assert list(table["Median level, gwei"]) == [5 / GWEI, 5 / GWEI]
    assert table["Busy"] == ["100%", "100%"]


def test_csv_has_every_digit_in_wei() -> None:
    timeline = a_timeline(0, steps=[a_step(0, 1_234_567_890_123_456_789)], usual=None)

    (row,) = csv.DictReader(StringIO(fee_csv(timeline, A_NETWORK)))

    assert row["lowest_wei"] == row["mean_wei"] == "1234567890123456789"
    assert row["median_wei"] == row["p90_wei"] == "1234567890123456789"
    assert row["longest_gap_seconds"] == "0"
    assert row["first_at"] == A_MOMENT.isoformat()
    assert (row["base_fee_percentile_wei"], row["busy_threshold_wei"]) == ("", "10")
    assert row["busy_share"] == "1"


def test_step_that_was_not_watched_has_no_share() -> None:
    timeline = a_timeline(1, 2, 3, busy=busy((1, 1.25), watched=(1, 3)))

    rows = csv.DictReader(StringIO(fee_csv(timeline, A_NETWORK)))

    assert [row["busy_share"] for row in rows] == ["", "0.25", "0"]
    assert fee_table(timeline)["Busy"] == ["0%", "25%", ""]
