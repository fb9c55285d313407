"""How busy a network is said to be."""

from __future__ import annotations

import pytest

from dashboard.detect.gas import SMALLEST_FLAT_WINDOW, Busyness, FeeReadings, conclude_busyness
from dashboard.domain.quantity import Wei

MOVING = (Wei(90), Wei(110))
FLAT = (Wei(7),) * SMALLEST_FLAT_WINDOW


@pytest.mark.parametrize(
    ("fee", "expected"), [(99, Busyness.CALM), (100, Busyness.CALM), (101, Busyness.BUSY)]
)
def test_busy_is_strictly_above_the_threshold(fee: int, expected: Busyness) -> None:
    readings = FeeReadings(Wei(fee), Wei(100), MOVING)

    assert conclude_busyness(readings) is expected


def test_window_of_one_value_is_a_flat_fee() -> None:
    assert conclude_busyness(FeeReadings(Wei(7), Wei(7), FLAT)) is Busyness.FLAT_FEE


def test_window_with_one_other_value_is_no_flat_fee() -> None:
    assert conclude_busyness(FeeReadings(Wei(7), Wei(7), (*FLAT, Wei(8)))) is Busyness.CALM


def test_few_equal_fees_are_no_flat_fee() -> None:
    assert conclude_busyness(FeeReadings(Wei(7), Wei(7), FLAT[1:])) is Busyness.CALM


@pytest.mark.parametrize(("fee", "threshold"), [(None, Wei(7)), (Wei(7), None), (None, None)])
def test_missing_value_gives_no_conclusion(fee: Wei | None, threshold: Wei | None) -> None:
    assert conclude_busyness(FeeReadings(fee, threshold, MOVING)) is None
