"""A week of hours, and networks side by side: pictures, tables and CSV."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import plotly.graph_objects as go

from dashboard.application.fees import FeeLines, NetworkLine
from dashboard.domain.alerts.condition import Signal
from dashboard.domain.fees.cheap_hours import HourFee, UsualWeek, usual_week
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.show.charts.side_by_side import (
    lines_csv,
    lines_in_words,
    lines_table,
    side_by_side,
)
from dashboard.show.charts.week_map import week_csv, week_drawing, week_table
from dashboard.store.fees.series import FeeMeans
from tests.builders import A_MOMENT, GWEI
from tests.unit.show.fee_timelines import a_timeline
from tests.unit.show.figure_arrays import array

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def a_week(cheap: set[int]) -> UsualWeek:
    """Return a week of 30 days whose cheap hours cost a gwei and the others two."""
    hours = [NOW - timedelta(hours=each) for each in range(24 * 30, 0, -1)]
    fees = [HourFee(at, (1 if at.hour in cheap else 2) * GWEI) for at in hours]
    return usual_week(fees, UTC, NOW)


def test_map_has_a_cell_for_each_weekday_and_hour() -> None:
    drawing = week_drawing(a_week({3, 4, 5}), "Base fee of Linea", "UTC", (4, 12))

    sent = drawing.figure.to_dict()
    go.Figure(sent)
    cells = array(sent["data"][0]["z"])
    assert cells.shape == (7, 24)
    assert cells[0].tolist()[2:7] == [2, 1, 1, 1, 2]
    assert drawing.words == (
        "Base fee of Linea by weekday and hour in UTC, median of 31 days: from 1 gwei "
        "(Fri 03:00) to 2 gwei (Wed 23:00)."
    )


def test_line_above_cheap_hours_has_two_parts_across_midnight() -> None:
    sent = week_drawing(a_week({23, 0, 1}), "Fee", "UTC", (4, 12)).figure.to_dict()

    lines = [each for each in sent["layout"]["shapes"] if each["type"] == "line"]
    assert [(each["x0"], each["x1"]) for each in lines] == [(22.5, 23.5), (-0.5, 1.5)]


def test_hours_that_are_not_clearly_cheaper_get_no_line() -> None:
    sent = week_drawing(a_week(set()), "Fee", "UTC", (4, 12)).figure.to_dict()

    assert [each["type"] for each in sent["layout"]["shapes"]] == ["rect"]


def test_week_is_written_in_whole_wei() -> None:
    rows = week_csv(a_week({3, 4, 5}), NetworkId(7), "UTC").splitlines()

    assert rows[0] == "network_id,time_zone,weekday,begins_at,median_wei"
    assert rows[4] == "7,UTC,Mon,03:00,1000000000"
    assert len(rows) == 1 + 7 * 24


def test_week_is_laid_out_by_hour() -> None:
    rows = week_table(a_week({3, 4, 5}))

    assert rows["Hour"][:2] == ["00:00", "01:00"]
    assert list(rows["Sun, gwei"][2:4]) == [2, 1]


def two_lines(name: str) -> list[NetworkLine]:
    """Return two networks with a gap of two steps; what is usual of one is not known."""
    seen = a_timeline(5 * GWEI, None, None, 7 * GWEI).steps
    steps = FeeMeans(seen.first_at, seen.last_at, seen.means, seen.values)
    gap = np.array([[seen.last_at[0], seen.first_at[1]]])
    before = seen.first_at[:1] - np.array([[120_000, 60_000]])
    return [
        NetworkLine(NetworkId(1), name, Signal.BASE_FEE, steps, gap, Wei(10 * GWEI)),
        NetworkLine(
            NetworkId(2),
            "Flat",
            Signal.PRIORITY_FEE,
            steps,
            np.concatenate([before, gap]),
            Wei(0),
            is_usual_known=False,
        ),
    ]


def found(name: str) -> FeeLines:
    return FeeLines(
        two_lines(name), A_MOMENT - timedelta(minutes=2), A_MOMENT + timedelta(minutes=1)
    )


def test_networks_are_drawn_in_per_cent_of_usual_and_broken_at_gaps() -> None:
    drawing = side_by_side(found("<a href='x'>n</a>"))

    sent = drawing.figure.to_dict()
    go.Figure(sent)
    gaps, usual, one, flat = sent["data"]
    assert gaps["fillpattern"]["shape"] == "/"
    assert len(array(gaps["x"])) == 2 * 5
    assert array(usual["y"]).tolist() == [100, 100]
    assert "<" not in one["name"]
    heights = array(one["y"])
    assert (heights[0], heights[2]) == (50, 70)
    assert np.isnan(heights).tolist() == [False, True, False]
    assert array(one["customdata"]).tolist()[::2] == [5, 7]
    assert np.isnan(array(flat["y"])).all()  # nothing is a share of zero
    assert "Flat (priority fee)" in drawing.words


def test_words_say_what_100_per_cent_is_and_which_fees_are_missing() -> None:
    assert lines_in_words(found("Linea")) == (
        "100% is the usual fee at this hour of the day. For Flat, it is the median of this time. "
        "Hatched: no fee of Linea for 30 s, Flat for 1 min in 2 gaps."
    )
    assert "No fee of Linea" in lines_in_words(found("Linea"), is_table=True)
    whole = two_lines("Linea")[0]._replace(unseen=np.empty((0, 2), np.int64))
    assert lines_in_words(FeeLines([whole], A_MOMENT, NOW, ("Blast",))) == (
        "100% is the usual fee at this hour of the day. No fees in this time: Blast."
    )


def test_networks_have_a_table_and_a_file() -> None:
    lines = two_lines("Linea")

    assert list(lines_table(lines)["Mean, gwei"]) == [5, 7] * 2
    assert list(lines_table(lines)["Of usual, %"])[:2] == [50, 70]
    assert lines_csv(lines).splitlines()[1] == (
        f"1,base fee,{A_MOMENT.isoformat()},{5 * GWEI},{10 * GWEI}"
    )
