"""Fee arithmetic in exact integers: the next base fee, suggestions.

Source of the rules: EIP-1559 for the next base fee; for the suggestions the gas API's own
algorithm as its vendor once published it (MetaMask/core, December 2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from dashboard.domain.fees.gas import BlockFees, FeeSuggestion, SuggestedGasFees
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.quantity import LARGEST_FEE, WEI_PER_GWEI, Wei

_ELASTICITY: Final = 2
_LARGEST_CHANGE: Final = 8
_NO_FEE: Final = Wei(0)


def next_base_fee(base_fee_per_gas: Wei, gas_used: int, gas_limit: int) -> Wei:
    """Return the base fee that follows a block, by the integer rule of EIP-1559."""
    target = gas_limit // _ELASTICITY
    if not target:  # a block without room for gas says nothing of demand
        return base_fee_per_gas
    change = base_fee_per_gas * abs(gas_used - target) // target // _LARGEST_CHANGE
    if gas_used > target:
        return Wei(base_fee_per_gas + max(1, change))
    return Wei(base_fee_per_gas - change)  # at the target the change is zero


Blocks = Annotated[int, Meta(ge=1, le=1024)]
Window = Annotated[int, Meta(ge=1, le=200_000)]
Percentile = Annotated[int, Meta(ge=0, le=100)]
Share = Annotated[int, Meta(ge=1, le=10_000)]


class LevelPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """How one level (low, medium, high) is computed; shares are in percent."""

    reward_percentile: Percentile
    priority_fee_share: Share
    priority_fee_floor: Wei
    base_fee_share: Share
    min_wait: timedelta
    max_wait: timedelta


class FeePolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of the gas operations, as in [fees]; defaults are the published ones.

    Levels use the newest `recent_blocks`, historical ranges the newest `historical_blocks`;
    `busy_percentile` and `usual_percentile` are taken over all of `window_blocks`.
    """

    low: LevelPolicy = LevelPolicy(
        10, 94, Wei(WEI_PER_GWEI), 110, timedelta(seconds=15), timedelta(seconds=30)
    )
    medium: LevelPolicy = LevelPolicy(
        20, 97, Wei(WEI_PER_GWEI * 3 // 2), 120, timedelta(seconds=15), timedelta(seconds=45)
    )
    high: LevelPolicy = LevelPolicy(
        30, 98, Wei(WEI_PER_GWEI * 2), 125, timedelta(seconds=15), timedelta(seconds=60)
    )
    range_percentiles: tuple[Percentile, Percentile] = (10, 95)
    trend_percentile: Percentile = 50
    recent_blocks: Blocks = 5
    trend_blocks: Blocks = 2
    historical_blocks: Blocks = 200
    history_blocks: Window = 500
    window_blocks: Window = 20_000
    usual_percentile: Percentile = 50
    busy_percentile: Percentile = 90

    @property
    def reward_percentiles(self) -> tuple[int, ...]:
        """The percentiles to request from `eth_feeHistory`, ascending and distinct."""
        levels = (level.reward_percentile for level in (self.low, self.medium, self.high))
        return tuple(sorted({*levels, *self.range_percentiles, self.trend_percentile}))


def suggest(
    blocks: Sequence[BlockFees], next_base_fee: Wei, window: FeeWindow, policy: FeePolicy
) -> SuggestedGasFees:
    """Compute `suggestedGasFees` from consecutive blocks (oldest first, at least one).

    `rewards` of a block are at `policy.reward_percentiles`; a block without rewards is ignored for
    priority fees. If no block has rewards, the floors are suggested.
    """
    latest = blocks[-1]
    recent = blocks[-policy.recent_blocks :]
    historical = blocks[-policy.historical_blocks :]
    base_fees = [block.base_fee_per_gas for block in historical]
    return SuggestedGasFees(
        low=_level(policy.low, recent, policy),
        medium=_level(policy.medium, recent, policy),
        high=_level(policy.high, recent, policy),
        estimated_base_fee=latest.base_fee_per_gas,
        network_congestion=window.congestion(latest.base_fee_per_gas),
        latest_priority_fee_range=_latest_range(latest, policy),
        historical_priority_fee_range=_historical_range(historical, policy),
        historical_base_fee_range=(min(base_fees), max(base_fees)),
        priority_fee_trend=_priority_fee_trend(blocks[-policy.trend_blocks :], policy),
        base_fee_trend=_trend(latest.base_fee_per_gas, next_base_fee),
    )


def _level(level: LevelPolicy, recent: Sequence[BlockFees], policy: FeePolicy) -> FeeSuggestion:
    rewards = _rewards(recent, level.reward_percentile, policy)
    share = _lower_median(rewards) * level.priority_fee_share // 100
    priority_fee = max(share, level.priority_fee_floor)
    base_fee = recent[-1].base_fee_per_gas * level.base_fee_share // 100
    return FeeSuggestion(
        suggested_max_priority_fee_per_gas=Wei(min(priority_fee, LARGEST_FEE)),
        suggested_max_fee_per_gas=Wei(min(base_fee + priority_fee, LARGEST_FEE)),
        min_wait_time_estimate=level.min_wait,
        max_wait_time_estimate=level.max_wait,
    )


def _rewards(blocks: Iterable[BlockFees], percentile: int, policy: FeePolicy) -> list[Wei]:
    """Return the rewards at one percentile in block order, without blocks that have none."""
    column = policy.reward_percentiles.index(percentile)
    return [block.rewards[column] for block in blocks if block.rewards]


def _lower_median(rewards: list[Wei]) -> Wei:
    return sorted(rewards)[(len(rewards) - 1) // 2] if rewards else _NO_FEE


def _latest_range(latest: BlockFees, policy: FeePolicy) -> tuple[Wei, Wei]:
    smallest, largest = (_rewards([latest], each, policy) for each in policy.range_percentiles)
    return (min(smallest, default=_NO_FEE), max(largest, default=_NO_FEE))


def _historical_range(blocks: Sequence[BlockFees], policy: FeePolicy) -> tuple[Wei, Wei]:
    """Return the range of rewards; its lower end ignores zero, which empty blocks report."""
    smallest, largest = (_rewards(blocks, each, policy) for each in policy.range_percentiles)
    return (min(filter(None, smallest), default=_NO_FEE), max(largest, default=_NO_FEE))


def _priority_fee_trend(blocks: Sequence[BlockFees], policy: FeePolicy) -> str:
    rewards = [reward for reward in _rewards(blocks, policy.trend_percentile, policy) if reward]
    return _trend(rewards[0], rewards[-1]) if rewards else "level"


def _trend(before: Wei, after: Wei) -> str:
    if after == before:
        return "level"
    return "up" if after > before else "down"
