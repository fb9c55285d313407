"""The figure of the Fees page: what goes to the browser, in parts that lie in order."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from dashboard.application.fee_timeline import FeeMarks, FeeTimeline
from dashboard.application.time_ranges import TIME_RANGES, TimeRange
from dashboard.domain.fees.busy_spells import BusyTime, Spell
from dashboard.domain.health.coverage import WatchedTime
from dashboard.show.charts.fee_chart import fee_drawing, fee_figure
from dashboard.store.schema.columns import moment_of
from tests.builders import A_MOMENT, GWEI
from tests.unit.show.fee_timelines import STEP, a_step, a_timeline
from tests.unit.show.fee_timelines import busy as busy_between
from tests.unit.show.figure_arrays import array

YEAR = timedelta(days=365)
MOST_POINTS = 5000
"""Of a line that a browser draws without delay."""

MANY = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)


def milliseconds(at: datetime) -> float:
    """Return a moment as figures have it."""
    return at.timestamp() * 1000


def sent(timeline: FeeTimeline) -> dict[str, Any]:
    """Return the traces that go to the browser, by name, after Plotly has validated them."""
    figure = fee_figure(timeline).to_dict()
    go.Figure(figure)
    return {trace["name"]: trace for trace in figure["data"]}


def long_timeline(span: TimeRange) -> FeeTimeline:
    """Return a timeline of full length, no two of whose values are the same."""
    count = span.length // span.step + 1
    steps = [
        a_step(0, *(9 * GWEI + number * each for each in MANY))._replace(
            first_at=A_MOMENT + number * span.step,
            last_at=A_MOMENT + number * span.step + span.step * 0.9,
        )
        for number in range(count)
    ]
    levels = 10 * GWEI + np.arange(count)
    until = steps[-1].last_at
    timeline = a_timeline(
        steps=steps, usual=levels, threshold=levels, longest_pause_between=span.step, until=until
    )
    ends = np.append(timeline.steps.first_at[1:], timeline.ends[-1])
    parts = np.where(np.arange(count) % 4, 0, np.arange(count) / count)
    spells = (
        Spell(moment_of(begin), moment_of(int(begin + (end - begin) * part)))
        for begin, end, part in zip(timeline.steps.first_at.tolist(), ends, parts, strict=True)
    )
    return replace(timeline, busy=BusyTime(tuple(spells), WatchedTime(steps[0].first_at, until)))


def test_line_breaks_at_a_gap_right_after_its_last_value() -> None:
    line = sent(a_timeline(1, 2, None, None, 3))["fee"]

    hole = np.flatnonzero(np.isnan(array(line["y"])))[0]
    assert line["connectgaps"] is False
    assert array(line["x"])[hole] == milliseconds(A_MOMENT + STEP) + 1


def test_line_goes_on_to_the_end_of_its_last_step() -> None:
    line = sent(a_timeline(1, 2))["fee"]

    assert array(line["x"])[-2] == milliseconds(A_MOMENT + 2 * STEP)
    assert array(line["y"])[:-1].tolist() == [1, 2, 2]


def test_rejections_are_ticks_at_the_foot_of_the_chart() -> None:
    arrivals = [(A_MOMENT, 3), (A_MOMENT + STEP, 1)]

    drawing = fee_drawing(a_timeline(1, 2), "Net", FeeMarks(arrivals))

    ticks = drawing.figure.to_dict()["data"][0]
    go.Figure(drawing.figure.to_dict())
    assert ticks["name"] == "rejections"
    assert array(ticks["x"]).tolist() == [milliseconds(A_MOMENT), milliseconds(A_MOMENT + STEP)]
    assert array(ticks["customdata"]).tolist() == [3, 1]
    assert drawing.words.endswith("Rejections meanwhile: 4.")


def test_gap_and_busy_time_are_shaded_over_the_whole_height() -> None:
    traces = sent(a_timeline(11, 9, None, None, 9))

    gap, busy = traces["gaps"], traces["busy"]
    edges = array(gap["x"])[[0, 2]].tolist()
    assert edges == [milliseconds(A_MOMENT + STEP), milliseconds(A_MOMENT + 4 * STEP)]
    assert gap["fillpattern"]["shape"] == "/"
    edges = array(busy["x"]).tolist()
    assert edges == [milliseconds(A_MOMENT), milliseconds(A_MOMENT + STEP)]
    assert array(busy["y"]).tolist() == [np.float32(11 * 1.12), 0]


def test_busy_time_is_shaded_in_each_step_as_high_as_its_share() -> None:
    spells = busy_between((0, 0.25), (1.5, 1.75), (2, 3), (9.5, 10))
    steps = [a_step(each, 10) for each in (0, 1, 2, 3, 9)]

    busy = sent(a_timeline(steps=steps, busy=spells, until=A_MOMENT + 10 * STEP))["busy"]

    steps_at = (array(busy["x"]) - milliseconds(A_MOMENT)) / (STEP.total_seconds() * 1000)
    assert steps_at.tolist() == [0, 2, 3, 9, 10]
    assert (array(busy["y"]) / (10 * 1.12)).tolist() == pytest.approx([0.25, 1, 0, 0.5, 0])


def test_band_goes_round_the_lowest_and_highest_of_each_step() -> None:
    steps = [a_step(0, 1, 5), a_step(1, 2, 8)]

    band = sent(a_timeline(steps=steps))["lowest to highest"]

    assert array(band["y"])[:-1].tolist() == [5, 8, 8, 2, 2, 1]


def test_band_has_a_part_for_each_time_between_gaps() -> None:
    steps = [a_step(0, 1, 5), a_step(4, 2, 8)]

    band = sent(a_timeline(steps=steps, until=A_MOMENT + 5 * STEP))["lowest to highest"]

    y = array(band["y"])
    parts = [part[~np.isnan(part)].tolist() for part in np.split(y, np.flatnonzero(np.isnan(y)))]
    assert parts == [[5, 5, 1, 1], [8, 8, 2, 2], []]


def test_steps_of_many_values_show_median_and_percentile() -> None:
    traces = sent(a_timeline(steps=[a_step(0, *MANY)]))

    assert array(traces["median to 90th percentile"]["y"])[:-1].tolist() == [11, 11, 6, 6]
    assert array(traces["fee"]["customdata"])[0].tolist() == [1, 12, 6, 11]


def test_steps_of_few_values_show_no_percentile() -> None:
    assert "median to 90th percentile" not in sent(a_timeline(steps=[a_step(0, 1, 5)]))


def test_levels_are_drawn_as_they_were() -> None:
    timeline = a_timeline(1, 1, 1, 1, threshold=np.array([10, 10, 12, 12]))

    level = sent(timeline)["busy level"]

    assert array(level["x"])[:3].tolist() == [milliseconds(A_MOMENT + k * STEP) for k in range(3)]
    assert array(level["y"]).tolist() == [10, 10, 12, 12, 12]


def names_in(figure: dict[str, Any]) -> dict[str, bool]:
    """Return the name of each level in its place, and whether it is shown."""
    return {each["text"]: each["visible"] for each in figure["layout"]["annotations"]}


def test_level_that_is_not_known_is_neither_drawn_nor_named() -> None:
    figure = fee_figure(a_timeline(1, 1, usual=None)).to_dict()

    (level,) = (trace for trace in figure["data"] if trace["name"] == "median level")
    assert np.isnan(array(level["y"])).all()
    assert names_in(figure) == {"median": False, "busy": True}


def test_level_that_is_noise_is_neither_drawn_nor_named() -> None:
    figure = fee_figure(a_timeline(*[9] * 50, threshold=np.tile([1, 12], 25))).to_dict()

    (level,) = (trace for trace in figure["data"] if trace["name"] == "busy level")
    assert np.isnan(array(level["y"])).all()
    assert names_in(figure) == {"median": True, "busy": False}
    assert figure["layout"]["yaxis"]["range"][1] == pytest.approx(9 * 1.12)


def test_unit_fits_the_largest_of_fees_and_levels() -> None:
    timeline = a_timeline(7, 7, threshold=np.full(2, 2 * GWEI))
    figure = fee_figure(timeline).to_dict()

    assert figure["layout"]["yaxis"]["ticksuffix"] == " gwei"
    assert array(sent(timeline)["busy level"]["y"])[0] == 2.0


@pytest.mark.parametrize("span", TIME_RANGES[2:], ids=lambda span: span.name)
def test_figure_of_any_length_has_few_points_and_needs_no_webgl(span: TimeRange) -> None:
    payload = json.dumps(fee_figure(long_timeline(span)).to_dict())

    assert len(payload) < (100_000 if span.length >= YEAR else 120_000)
    for trace in json.loads(payload)["data"]:
        arrays = [trace["x"], trace["y"], *([trace["customdata"]] if "customdata" in trace else [])]
        assert {each["dtype"] for each in arrays} <= {"f4", "f8"}
        assert trace["type"] == "scatter"
        assert len(array(trace["x"])) <= MOST_POINTS


def test_words_say_what_the_figure_shows() -> None:
    drawing = fee_drawing(a_timeline(5 * GWEI, 9 * GWEI), "Base fee of Net")

    assert drawing.words == (
        "Base fee of Net from 20 Nov 2026 12:00 to 20 Nov 2026 12:00 UTC, "
        "between 5 gwei and 9 gwei."
    )
    assert fee_drawing(a_timeline(7, 7), "Net").words.endswith("UTC, always 7 wei.")
