"""What the gas API says of a network's fees, in wei and exact durations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from dashboard.domain.quantity import Wei


@dataclass(frozen=True, slots=True)
class FeeSuggestion:
    """One level (low, medium or high) of `suggestedGasFees`."""

    suggested_max_priority_fee_per_gas: Wei
    suggested_max_fee_per_gas: Wei
    min_wait_time_estimate: timedelta
    max_wait_time_estimate: timedelta


@dataclass(frozen=True, slots=True)
class SuggestedGasFees:
    """The whole of `suggestedGasFees`.

    `network_congestion` is a share of 0 to 1. Ranges are (smallest, largest). Trends are
    ``up``, ``down`` or ``level``; other words are kept as sent. `version` is undocumented
    and absent from most sources.
    """

    low: FeeSuggestion
    medium: FeeSuggestion
    high: FeeSuggestion
    estimated_base_fee: Wei
    network_congestion: float
    latest_priority_fee_range: tuple[Wei, Wei]
    historical_priority_fee_range: tuple[Wei, Wei]
    historical_base_fee_range: tuple[Wei, Wei]
    priority_fee_trend: str
    base_fee_trend: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class BlockFees:
    """What one block tells about fees.

    `base_fee_per_gas` is the block's own. `gas_used` and `gas_limit` are units of gas.
    `rewards` are priority fees in wei at the percentiles that were asked, ascending; empty
    where the node gave none.
    """

    number: int
    base_fee_per_gas: Wei
    gas_used_ratio: float
    rewards: tuple[Wei, ...] = ()
