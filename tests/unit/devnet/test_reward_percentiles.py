"""Percentiles of priority fees: weighted by gas, as geth counts them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dashboard.devnet.blockspace import gas_weighted
from dashboard.domain.quantity import Wei

TIPS = [(Wei(30), 70), (Wei(10), 10), (Wei(20), 20)]


@pytest.mark.parametrize(
    ("percentile", "reward"),
    [("0", 10), ("10", 10), ("10.9", 10), ("11", 20), ("30", 20), ("31", 30), ("100", 30)],
)
def test_reward_is_the_tip_at_that_share_of_the_gas(percentile: str, reward: int) -> None:
    assert gas_weighted(TIPS, [Fraction(percentile)]) == (reward,)


def test_rewards_of_an_empty_block_are_zero() -> None:
    assert gas_weighted([], [Fraction(10), Fraction(90)]) == (0, 0)


def test_rewards_of_several_percentiles_ascend_together() -> None:
    percentiles = [Fraction(each) for each in (0, 10, 11, 50, 50, 100)]

    assert gas_weighted(TIPS, percentiles) == (10, 10, 20, 30, 30, 30)
