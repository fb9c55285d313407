"""Series in columns: every fee exact, every level at its time, gaps between steps counted."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from dashboard.domain.fees.gas import TimedFee
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.store.fees.rollup_arrays import RollupArrays
from dashboard.store.fees.series import FeePercentiles, FeeStep, FeeSteps
from dashboard.store.schema.columns import moment_of

A_STEP = 5000


def steps_of(*values: tuple[int, int]) -> FeeSteps:
    """Return the steps of five seconds of fees by time."""
    fees = RollupArrays.of_fees([TimedFee(at, Wei(fee)) for at, fee in values])
    return FeeSteps.of(fees.rolled_up(A_STEP))


def test_largest_fees_stay_exact() -> None:
    [step] = steps_of((1000, LARGEST_FEE), (2000, LARGEST_FEE - 1))

    assert (step.lowest, step.highest) == (LARGEST_FEE - 1, LARGEST_FEE)
    assert step.mean == float(LARGEST_FEE)


def test_step_is_told_as_one_of_its_column() -> None:
    steps = steps_of((1000, 4), (3000, 8), (4000, 9))

    assert steps[0] == FeeStep(
        moment_of(1000),
        moment_of(4000),
        lowest=Wei(4),
        highest=Wei(9),
        mean=7.0,
        values=3,
        estimated=0,
        median=Wei(8),
        p90=Wei(9),
        longest_gap=timedelta(seconds=2),
    )


def test_silence_between_two_steps_counts_for_the_later_one() -> None:
    steps = steps_of((0, 1), (4000, 1), (9000, 1), (9500, 1))

    assert steps.longest_gaps.tolist() == [4000, 5000]


def test_nothing_seen_makes_no_step() -> None:
    assert list(steps_of()) == []


def test_mark_is_the_one_that_held_at_the_moment() -> None:
    held = FeePercentiles.of([(1000, 1), (2000, 2)]).at(np.array([1000, 1999, 2000, 9000]))

    assert held is not None
    assert held.tolist() == [1, 1, 2, 2]


def test_first_mark_also_holds_a_moment_before_it_was_asked() -> None:
    held = FeePercentiles.of([(2000, 3)]).at(np.array([1000]))

    assert held is not None
    assert held.tolist() == [3]


def test_mark_that_was_never_seen_is_not_known() -> None:
    assert FeePercentiles.of([]).at(np.array([1000])) is None
