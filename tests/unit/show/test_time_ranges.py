"""Lengths of time: offered as far as data reaches, in steps that the store has summed up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.application.time_ranges import TIME_RANGES, TimeRange, offered_time_ranges
from dashboard.show.views.overview import SHORT_TIME_RANGES
from tests.builders import A_MOMENT

MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("minutes", "hours", "days"))


@pytest.mark.parametrize(
    ("kept", "longest"),
    [
        (timedelta(0), "7 d"),
        (7 * DAY, "7 d"),
        (8 * DAY, "30 d"),
        (900 * DAY, "3 y"),
        (9000 * DAY, "10 y"),
    ],
)
def test_lengths_are_offered_as_far_as_data_reaches(kept: timedelta, longest: str) -> None:
    spans = offered_time_ranges(A_MOMENT - kept, A_MOMENT)

    assert spans[-1].name == longest


def test_network_without_data_has_more_lengths_than_the_overview() -> None:
    offered = offered_time_ranges(None, A_MOMENT)

    assert set(offered) > set(SHORT_TIME_RANGES.values())


@pytest.mark.parametrize("span", TIME_RANGES, ids=lambda span: span.name)
def test_length_has_as_many_steps_as_a_screen_can_show(span: TimeRange) -> None:
    assert 100 <= span.length / span.step <= 1_800


@pytest.mark.parametrize("span", TIME_RANGES, ids=lambda span: span.name)
def test_no_length_reads_more_than_a_bounded_number_of_rows(span: TimeRange) -> None:
    level = next((each for each in (DAY, HOUR, MINUTE) if span.step % each == timedelta()), None)
    rows = span.length / (timedelta(seconds=2) if level is None else level)

    assert rows <= 4_400


def test_chart_begins_where_a_step_does() -> None:
    hours = TimeRange("a day", DAY, 2 * HOUR)

    assert hours.begins_at(A_MOMENT + timedelta(minutes=59)) == A_MOMENT - DAY
    assert hours.begins_at(A_MOMENT - timedelta(seconds=1)) == A_MOMENT - DAY - 2 * HOUR
