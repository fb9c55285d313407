"""Rejections over time: the time that is shown, its steps, their groups and what is drawn."""

from __future__ import annotations

import csv
from datetime import timedelta
from io import StringIO

import plotly.graph_objects as go
import pytest

from dashboard.application.rejection_timeline import (
    NO_MODULE,
    PERIODS,
    RANGES,
    Overruns,
    Period,
    SplitBy,
    Timeline,
    sort_overruns,
    window_of,
)
from dashboard.application.time_ranges import Zoom
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.show.charts.rejection_chart import (
    folded,
    overrun_csv,
    overrun_drawing,
    timeline_csv,
    timeline_drawing,
    timeline_legend,
    timeline_rows,
)
from dashboard.show.parts.rejection_counts import stands_out, time_of_bar
from dashboard.store.rejections.counts import GroupCount, GroupCounts
from tests.builders import A_MOMENT, HOUR

NOW = A_MOMENT + timedelta(minutes=20)
LINE = "Transaction line count for module {}={} is above the limit {}"


def a_timeline(*names: str) -> Timeline:
    window = window_of(Period("3 h", 3 * HOUR, HOUR), NOW)
    groups = tuple((name, (0, len(names) - place, 0, 1)) for place, name in enumerate(names))
    return Timeline(window, SplitBy.MODULE, groups, frozenset(window.begins[:1]))


@pytest.mark.parametrize("period", PERIODS.values(), ids=lambda period: period.words)
def test_steps_of_a_period_hold_all_of_it(period: Period) -> None:
    window = window_of(period, NOW)

    assert window.begins[0] <= window.since < window.begins[0] + period.step
    assert window.begins[-1] <= NOW < window.begins[-1] + period.step
    assert window.until - window.since == period.length == window.since - window.before_since


def test_time_before_ends_where_the_time_begins() -> None:
    zoom = Zoom(NOW - HOUR, NOW - HOUR / 2)
    window = window_of(zoom, NOW)

    within, before = window.within(RejectionFilter()), window.before(RejectionFilter())

    assert within.since == zoom.since
    assert within.until == zoom.until - timedelta(milliseconds=1)
    assert before.since == zoom.since - HOUR / 2
    assert before.until == zoom.since - timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("length", "step"),
    [
        (timedelta(seconds=30), timedelta(seconds=1)),
        (HOUR, timedelta(minutes=2)),
        (7 * HOUR, HOUR),
        (timedelta(days=400), timedelta(days=28)),
    ],
)
def test_part_that_was_chosen_has_steps_a_screen_can_show(
    length: timedelta, step: timedelta
) -> None:
    assert window_of(Zoom(NOW - length, NOW), NOW).step == step


def test_groups_beyond_the_largest_share_a_colour_and_no_module_comes_last() -> None:
    timeline = a_timeline(NO_MODULE, "A", "B", "C", "D", "E", "F", "G")

    names = [name for name, _ in folded(timeline)]

    assert names == ["A", "B", "C", "D", "E", "2 others", NO_MODULE]
    assert sum(sum(counts) for _, counts in folded(timeline)) == timeline.total
    assert len({colour for _, colour, _ in timeline_legend(timeline)}) == len(names)


def test_one_group_more_is_drawn_by_its_name() -> None:
    names = [name for name, _ in folded(a_timeline("A", "B", "C", "D", "E", "F"))]

    assert names == ["A", "B", "C", "D", "E", "F"]


def test_figure_is_what_plotly_takes_and_hatches_what_nobody_watched() -> None:
    figure = timeline_drawing(a_timeline("HUB", "<a href='x'>"), "words").figure.to_dict()

    assert [trace["name"] for trace in figure["data"]] == ["not watched", "HUB", "&lt;a href='x'>"]
    go.Figure(figure)


def test_table_and_csv_hold_every_count() -> None:
    timeline = a_timeline("HUB", "=ADD")

    columns, rows = timeline_rows(timeline)
    written = list(csv.reader(StringIO(timeline_csv(timeline), newline="")))

    assert columns == ("From (UTC)", "HUB", "=ADD")
    assert [row[1:] for row in rows] == [("1", "1"), ("2", "1")]
    assert written[0] == ["from", "watched", "module", "rejections"]
    assert [row[1:] for row in written[1:5]] == [
        ["no", "HUB", "0"],
        ["no", "'=ADD", "0"],
        ["yes", "HUB", "2"],
        ["yes", "'=ADD", "1"],
    ]


def test_rows_of_steps_below_a_minute_have_seconds() -> None:
    window = window_of(Zoom(A_MOMENT, A_MOMENT + timedelta(seconds=30)), NOW)
    groups = (("HUB", (1,) * len(window.begins)),)

    _, rows = timeline_rows(Timeline(window, SplitBy.MODULE, groups, frozenset()))

    assert len({row[0] for row in rows}) == len(rows) == 30


def test_bar_stands_for_its_step_as_far_as_it_is_shown() -> None:
    timeline = a_timeline("HUB")
    begins = timeline.window.begins

    assert time_of_bar(timeline, 1, NOW) == Zoom(begins[1], begins[2])
    assert time_of_bar(timeline, 0, NOW) == Zoom(NOW - 3 * HOUR, begins[1])
    assert time_of_bar(timeline, 3, NOW) == Zoom(begins[3], NOW)
    assert time_of_bar(timeline, 4, NOW) is None


def test_overruns_are_sorted_and_texts_without_numbers_left_out() -> None:
    reasons = [
        LINE.format("HUB", 105, 100),
        LINE.format("HUB", 2_402, 70),
        LINE.format("BLAKE", 3, 0),
        "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)",
        "odd",
    ]

    found = sort_overruns(reasons)

    assert dict(zip(RANGES, found.counts, strict=True)) == dict.fromkeys(RANGES, 0) | {
        "to 1.1×": 1,
        "more": 1,
        "limit 0": 1,
    }
    assert (found.of, found.total) == (5, 3)
    assert found.largest == pytest.approx(34.3, abs=0.1)


def test_overruns_are_drawn_and_written() -> None:
    drawing = overrun_drawing(Overruns((1, 0, 0, 0, 0, 2, 0), 3, 12.0))

    figure = go.Figure(drawing.figure.to_dict())
    assert figure.layout.xaxis.ticktext == ("≤1.1", "≤1.5", "≤2", "≤5", "≤10", "more")
    assert "to 1.1×: 1" in drawing.words
    assert "limit 0" not in drawing.words
    assert "more,2" in overrun_csv(Overruns((1, 0, 0, 0, 0, 2, 0), 3, 12.0))


@pytest.mark.parametrize(
    ("counts", "is_worth_a_look"), [((20, 1, 1), True), ((3,) * 10, False), ((2, 1), False)]
)
def test_sender_stands_out_by_share(counts: tuple[int, ...], *, is_worth_a_look: bool) -> None:
    groups = tuple(GroupCount(place, count) for place, count in enumerate(counts))

    assert stands_out(GroupCounts(groups, len(counts), sum(counts))) is is_worth_a_look
