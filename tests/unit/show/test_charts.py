"""Figures: what goes to the browser, and the words for who cannot see it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import plotly.graph_objects as go
import pytest

from dashboard.domain.quantity import Wei
from dashboard.show.charts import Drawing, FeeLevels, base_fee_drawing
from dashboard.show.frames import fee_frame
from dashboard.store.observations import BaseFeePoint
from tests.unit.show.figures import array

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
GWEI = 10**9
LEVELS = FeeLevels(Wei(3 * GWEI), Wei(8 * GWEI))


def rising(count: int, *, is_time_estimated: bool = False) -> list[BaseFeePoint]:
    """Return fees that rise from one gwei, one gwei every four seconds."""
    return [
        BaseFeePoint(START + timedelta(seconds=4 * i), Wei((1 + i) * GWEI), is_time_estimated)
        for i in range(count)
    ]


def drawing_of(points: list[BaseFeePoint], levels: FeeLevels = LEVELS) -> Drawing:
    """Draw the points up to the last of them."""
    until = points[-1].at
    return base_fee_drawing(fee_frame(points, timedelta(seconds=12), until), levels, "Net", until)


def figure_of(points: list[BaseFeePoint], levels: FeeLevels = LEVELS) -> go.Figure:
    """Return what is drawn after Plotly has validated it."""
    return go.Figure(drawing_of(points, levels).figure.to_dict())


def test_arrays_go_out_typed_and_never_as_lists() -> None:
    (trace,) = json.loads(drawing_of(rising(5)).figure.to_json())["data"]

    assert trace["type"] == "scatter"
    assert {trace[axis]["dtype"] for axis in ("x", "y")} == {"f8"}


def test_payload_of_a_long_series_stays_small() -> None:
    payload = drawing_of(rising(40_000)).figure.to_json()

    assert len(payload) < 100_000


def test_times_go_out_as_utc_milliseconds() -> None:
    trace = figure_of(rising(2)).data[0]

    assert array(trace.x)[0] == START.timestamp() * 1000


def test_fees_go_out_in_the_unit_of_the_axis() -> None:
    figure = figure_of(rising(3))

    assert array(figure.data[0].y).tolist() == [1.0, 2.0, 3.0]
    assert figure.layout.yaxis.ticksuffix == " gwei"


def test_flat_chain_is_drawn_in_wei() -> None:
    figure = figure_of([BaseFeePoint(START, Wei(7), is_time_estimated=False)], FeeLevels())

    assert figure.layout.yaxis.ticksuffix == " wei"


def test_gap_is_not_bridged_and_is_shaded() -> None:
    points = [point for point in rising(20) if not 5 <= (point.at - START).seconds / 4 < 15]

    figure = figure_of(points, FeeLevels())

    (gap,) = figure.layout.shapes
    assert figure.data[0].connectgaps is False
    assert gap.x1 == (START + timedelta(seconds=60)).timestamp() * 1000


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        (FeeLevels(), []),
        (FeeLevels(base_fee_percentile=Wei(1)), ["median"]),
        (LEVELS, ["median", "busy"]),
    ],
)
def test_levels_that_are_known_are_drawn_by_name(levels: FeeLevels, names: list[str]) -> None:
    figure = figure_of(rising(3), levels)

    assert [annotation.text for annotation in figure.layout.annotations] == names


def test_words_say_what_the_figure_shows() -> None:
    words = drawing_of(rising(3)).words

    assert words == (
        "Base fee of Net from 20 Nov 12:00 to 20 Nov 12:00 UTC, between 1.0000 gwei and "
        "3.0000 gwei. Busy above 8.0000 gwei."
    )


def test_estimated_times_are_told_beside_the_figure() -> None:
    drawing = drawing_of(rising(3, is_time_estimated=True))

    assert "their times are estimated" in drawing.caveat


def test_exact_times_need_no_caveat() -> None:
    assert drawing_of(rising(3)).caveat == ""
