"""Steps put together of roll-ups are those of their values, to the last wei and count."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.rollup import RollupLevel, TimedFee
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.store.fees.steps import FeeSteps, merge_steps
from tests.rolled_up_series import FeeRollup, merged_part_of, roll_up, summary_of

MINUTE = RollupLevel.MINUTE.length
FEES = st.integers(0, 300) | st.integers(0, LARGEST_FEE)
SERIES = st.dictionaries(st.integers(0, 20 * MINUTE), st.tuples(FEES, st.booleans()), max_size=40)


def minutes_of(values: list[TimedFee]) -> list[FeeRollup]:
    """Roll values up by the minute."""
    return [each.rollup for each in roll_up(values) if each.level is RollupLevel.MINUTE]


@given(series=SERIES, minutes=st.integers(1, 7))
def test_steps_of_some_minutes_are_those_of_their_values(
    series: dict[int, tuple[int, bool]], minutes: int
) -> None:
    length = minutes * MINUTE
    values = [TimedFee(at, Wei(fee), guessed) for at, (fee, guessed) in sorted(series.items())]

    merged = merge_steps([merged_part_of(each) for each in minutes_of(values)], length)

    steps = groupby(values, lambda value: value.at // length)
    assert list(merged) == list(
        FeeSteps.of(summary_of(FeeRollup.of_all(some)) for _, some in steps)
    )


@pytest.mark.parametrize("count", [255, 256, 65_536])
def test_counts_of_any_width_are_added_up(count: int) -> None:
    many = FeeRollup.of_all(TimedFee(at, Wei(7)) for at in range(count))
    one = FeeRollup.of(TimedFee(MINUTE * 2, Wei(9)))

    [step] = merge_steps([merged_part_of(many), merged_part_of(one)], 3 * MINUTE)

    assert (step.values, step.median, step.p90, step.highest) == (count + 1, 7, 7, 9)


def test_nothing_seen_makes_no_step() -> None:
    assert list(merge_steps([], MINUTE)) == []
