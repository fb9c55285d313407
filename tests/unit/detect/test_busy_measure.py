"""How busy a network is said to be."""

from __future__ import annotations

import pytest

from dashboard.detect.busy_measure import (
    SMALLEST_FLAT_WINDOW,
    BaseFeeReadings,
    PriorityFeeReadings,
    is_flat,
    measure_busyness,
)
from dashboard.domain.fee_percentiles import RankedFees
from dashboard.domain.grounds import FeeGrounds, Signal
from dashboard.domain.quantity import Wei

MOVING = RankedFees((Wei(90), Wei(110)))
FLAT = RankedFees([Wei(7)] * SMALLEST_FLAT_WINDOW)
FEW = RankedFees([Wei(7)] * (SMALLEST_FLAT_WINDOW - 1))


NO_PRIORITY = PriorityFeeReadings(Wei(1), RankedFees())
ONE_TO_HUNDRED = RankedFees(map(Wei, range(100, 0, -1)))


def test_window_of_one_value_is_flat() -> None:
    assert is_flat(FLAT)


def test_window_with_one_other_value_is_not_flat() -> None:
    assert not is_flat(RankedFees([*[Wei(7)] * SMALLEST_FLAT_WINDOW, Wei(8)]))


def test_few_equal_fees_are_not_flat() -> None:
    assert not is_flat(FEW)


@pytest.mark.parametrize(("fee", "is_busy"), [(99, False), (100, False), (101, True)])
def test_busy_is_strictly_above_the_threshold(fee: int, is_busy: bool) -> None:  # noqa: FBT001 - a column of the table
    grounds = measure_busyness(BaseFeeReadings(Wei(fee), Wei(100), MOVING), NO_PRIORITY)

    assert grounds is not None
    assert grounds.is_busy is is_busy


@pytest.mark.parametrize(("fee", "threshold"), [(None, Wei(7)), (Wei(7), None), (None, None)])
def test_missing_value_gives_no_grounds(fee: Wei | None, threshold: Wei | None) -> None:
    assert measure_busyness(BaseFeeReadings(fee, threshold, MOVING), NO_PRIORITY) is None


def test_moving_base_fee_is_weighed_against_its_threshold() -> None:
    readings = BaseFeeReadings(Wei(101), Wei(100), MOVING)

    assert measure_busyness(readings, NO_PRIORITY) == FeeGrounds(
        Signal.BASE_FEE, Wei(101), Wei(100)
    )


@pytest.mark.parametrize(("fee", "is_busy"), [(90, False), (91, True)])
def test_flat_chain_is_busy_strictly_above_the_90th_percentile_of_priority_fees(
    fee: int, *, is_busy: bool
) -> None:
    grounds = measure_busyness(
        BaseFeeReadings(Wei(7), Wei(7), FLAT), PriorityFeeReadings(Wei(fee), ONE_TO_HUNDRED)
    )

    assert grounds == FeeGrounds(Signal.PRIORITY_FEE, Wei(fee), Wei(90))
    assert grounds.is_busy is is_busy


def test_chain_on_which_no_fee_moves_is_never_busy() -> None:
    grounds = measure_busyness(
        BaseFeeReadings(Wei(7), Wei(7), FLAT), PriorityFeeReadings(Wei(7), FLAT)
    )

    assert grounds is not None
    assert not grounds.is_busy


def test_few_priority_fees_are_no_measure() -> None:
    few = PriorityFeeReadings(Wei(9), FEW)

    assert measure_busyness(BaseFeeReadings(Wei(7), Wei(7), FLAT), few) is None


def test_fees_are_not_weighed_without_a_threshold() -> None:
    assert measure_busyness(BaseFeeReadings(Wei(7), None, MOVING), NO_PRIORITY) is None
