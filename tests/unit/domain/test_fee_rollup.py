"""A roll-up tells of many fees what their list would tell."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.rollup import MINUTE, RollupLevel, TimedFee
from dashboard.domain.quantity import Wei
from tests.rolled_up_series import FeeRollup, roll_up

HOUR = 60 * MINUTE
TIMES = st.integers(0, 3 * HOUR) | st.integers(0, 100 * HOUR)
SERIES = st.dictionaries(
    TIMES, st.tuples(st.integers(0, 10**12).map(Wei), st.booleans()), min_size=1, max_size=60
).map(lambda seen: [TimedFee(at, *value) for at, value in sorted(seen.items())])


def test_rollup_tells_first_last_bounds_sum_and_gap() -> None:
    values = [TimedFee(5, Wei(7)), TimedFee(9, Wei(3), is_estimated=True), TimedFee(10, Wei(4))]

    rollup = FeeRollup.of_all(values)

    told = (rollup.first_at, rollup.last_at, rollup.lowest, rollup.highest, rollup.total)
    assert told == (5, 10, 3, 7, 14)
    assert (rollup.seen, rollup.estimated, rollup.last, rollup.longest_gap) == (3, 1, 4, 4)
    assert rollup.percentiles(50, 90) == (4, 7)


def test_silence_around_a_rollup_is_none_of_its_gaps() -> None:
    assert FeeRollup.of(TimedFee(5, Wei(7))).longest_gap == 0


@given(SERIES, st.integers(0, 60))
def test_rollup_of_parts_is_that_of_all_values(values: list[TimedFee], cut: int) -> None:
    ends = values[:cut], values[cut:]
    parts = [FeeRollup.of_all(part) for part in ends if part]

    assert FeeRollup.of_parts(parts) == FeeRollup.of_all(values)
    assert parts[0].seen == len(ends[0] or ends[1])


@given(SERIES, st.randoms(use_true_random=False))
def test_rollup_counts_values_in_any_order(values: list[TimedFee], chance: object) -> None:
    shuffled = sorted(values, key=lambda _: chance.random())  # type: ignore[attr-defined]  # hypothesis' own Random
    inorder = FeeRollup.of_all(values)

    rollup = FeeRollup.of_all(shuffled)

    rollup.longest_gap = inorder.longest_gap
    assert rollup == inorder


def test_earlier_part_may_be_merged_later() -> None:
    early, late = (FeeRollup.of(TimedFee(at, Wei(at))) for at in (3, 5))

    late.merge(early)

    assert late == FeeRollup.of_all([TimedFee(3, Wei(3)), TimedFee(5, Wei(5))])


@given(SERIES)
def test_series_is_rolled_up_at_every_level(values: list[TimedFee]) -> None:
    found = list(roll_up(values))

    for level in RollupLevel:
        of_level = [each for each in found if each.level is level]
        begins = [each.begins_at for each in of_level]
        assert begins == sorted({level.begin_of(value.at) for value in values})
        assert sum(each.rollup.seen for each in of_level) == len(values)
        gaps = [
            after.at - before.at
            for before, after in pairwise(values)
            if level.begin_of(after.at) == level.begin_of(before.at)
        ]
        assert max(each.rollup.longest_gap for each in of_level) == max(gaps, default=0)


@pytest.mark.parametrize(
    ("level", "begin"),
    [
        (RollupLevel.MINUTE, 90_000_000),
        (RollupLevel.HOUR, 90_000_000),
        (RollupLevel.DAY, 86_400_000),
    ],
)
def test_value_on_an_edge_belongs_to_what_begins_there(level: RollupLevel, begin: int) -> None:
    assert level.begin_of(90_000_000) == begin
    assert level.begin_of(begin + level.length - 1) == begin
    assert level.begin_of(begin + level.length) == begin + level.length
