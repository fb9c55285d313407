"""Parts of a time cover each moment once, by steps that no border cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.store.rejections.counter_steps import LENGTHS, Level, Part, parts_of

HOUR = LENGTHS[Level.HOUR]
DAY = LENGTHS[Level.DAY]
WEEK = LENGTHS[Level.WEEK]

edges = st.none() | st.integers(0, 5 * WEEK)


@given(begin=edges, end=edges, step=st.sampled_from([None, 120_000, HOUR, 6 * HOUR, DAY, WEEK]))
def test_parts_follow_one_another_without_a_hole(
    begin: int | None, end: int | None, step: int | None
) -> None:
    parts = parts_of(begin, end, step)

    assert (parts[0].begin, parts[-1].end) == (begin, end)
    assert [each.end for each in parts[:-1]] == [each.begin for each in parts[1:]]


@given(begin=edges, end=edges)
def test_no_step_is_cut(begin: int | None, end: int | None) -> None:
    for part in parts_of(begin, end):
        if part.level in LENGTHS:
            assert (part.begin or 0) % LENGTHS[part.level] == 0
            assert (part.end or 0) % LENGTHS[part.level] == 0


@pytest.mark.parametrize(
    ("step", "coarsest"),
    [
        (120_000, None),
        (HOUR, Level.HOUR),
        (6 * HOUR, Level.HOUR),
        (DAY, Level.DAY),
        (None, Level.WEEK),
    ],
)
def test_steps_are_no_longer_than_those_that_are_asked_for(
    step: int | None, coarsest: Level | None
) -> None:
    assert parts_of(WEEK, 4 * WEEK, step) == [Part(coarsest, WEEK, 4 * WEEK)]


def test_ends_are_counted_by_shorter_steps() -> None:
    assert parts_of(DAY - 1, WEEK + DAY + HOUR + 5) == [
        Part(None, DAY - 1, DAY),
        Part(Level.DAY, DAY, WEEK + DAY),
        Part(Level.HOUR, WEEK + DAY, WEEK + DAY + HOUR),
        Part(None, WEEK + DAY + HOUR, WEEK + DAY + HOUR + 5),
    ]


def test_all_time_is_one_step() -> None:
    assert parts_of(None, None) == [Part(Level.EVER, None, None)]
