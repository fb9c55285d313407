"""Parts of a time cover each moment once, by steps that no border cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.store.rejections.counter_steps import (
    STEP_LENGTHS,
    CountedRange,
    CounterStep,
    ranges_of,
)

HOUR = STEP_LENGTHS[CounterStep.HOUR]
DAY = STEP_LENGTHS[CounterStep.DAY]
WEEK = STEP_LENGTHS[CounterStep.WEEK]

edges = st.none() | st.integers(0, 5 * WEEK)


@given(begin=edges, end=edges, step=st.sampled_from([None, 120_000, HOUR, 6 * HOUR, DAY, WEEK]))
def test_parts_follow_one_another_without_a_hole(
    begin: int | None, end: int | None, step: int | None
) -> None:
    parts = ranges_of(begin, end, step)

    assert (parts[0].begin, parts[-1].end) == (begin, end)
    assert [each.end for each in parts[:-1]] == [each.begin for each in parts[1:]]


@given(begin=edges, end=edges)
def test_no_step_is_cut(begin: int | None, end: int | None) -> None:
    for part in ranges_of(begin, end):
        if part.level in STEP_LENGTHS:
            assert (part.begin or 0) % STEP_LENGTHS[part.level] == 0
            assert (part.end or 0) % STEP_LENGTHS[part.level] == 0


@pytest.mark.parametrize(
    ("step", "coarsest"),
    [
        (120_000, None),
        (HOUR, CounterStep.HOUR),
        (6 * HOUR, CounterStep.HOUR),
        (DAY, CounterStep.DAY),
        (None, CounterStep.WEEK),
    ],
)
def test_steps_are_no_longer_than_those_that_are_asked_for(
    step: int | None, coarsest: CounterStep | None
) -> None:
    assert ranges_of(WEEK, 4 * WEEK, step) == [CountedRange(coarsest, WEEK, 4 * WEEK)]


def test_ends_are_counted_by_shorter_steps() -> None:
    assert ranges_of(DAY - 1, WEEK + DAY + HOUR + 5) == [
        CountedRange(None, DAY - 1, DAY),
        CountedRange(CounterStep.DAY, DAY, WEEK + DAY),
        CountedRange(CounterStep.HOUR, WEEK + DAY, WEEK + DAY + HOUR),
        CountedRange(None, WEEK + DAY + HOUR, WEEK + DAY + HOUR + 5),
    ]


def test_all_time_is_one_step() -> None:
    assert ranges_of(None, None) == [CountedRange(CounterStep.EVER, None, None)]
