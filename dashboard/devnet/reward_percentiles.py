"""Percentiles of the priority fees paid in a block, weighted by gas as nodes do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dashboard.domain.quantity import Wei

_NOTHING_PAID = Wei(0)


def gas_weighted(
    tips: Iterable[tuple[Wei, int]], percentiles: Sequence[Fraction]
) -> tuple[Wei, ...]:
    """Return priority fees at ascending `percentiles` of the gas of one block.

    `tips` are pairs of priority fee and gas used. Without any, all are zero. As geth counts:
    the first tip, from the smallest, up to which that share of the gas was used.
    """
    ascending = sorted(tips)
    if not ascending:
        return (_NOTHING_PAID,) * len(percentiles)
    total = sum(gas for _, gas in ascending)
    rewards, place, counted = [], 0, ascending[0][1]
    for percentile in percentiles:
        while counted < int(percentile * total / 100) and place < len(ascending) - 1:
            place += 1
            counted += ascending[place][1]
        rewards.append(ascending[place][0])
    return tuple(rewards)
