"""The fees of a network: each series, what a poll saw of them, and suggested fees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from dashboard.domain.health.observation import Failure, Operation
from dashboard.domain.quantity import NetworkId, Wei

PARTS_BITS: Final = 6
PARTS: Final = 1 << PARTS_BITS
"""Equal parts that each doubling of a fee has: a part is at most 1/64 as wide as its smallest fee.
"""

MINUTE: Final = 60_000


class FeeSeries(IntEnum):
    """Which fee is rolled up; the numbers are stored and never change their meaning.

    Release 0.1.0 counted busy values under 5.
    """

    ESTIMATED_BASE_FEE = 1
    MEDIUM_MAX_PRIORITY_FEE = 2
    BASE_FEE_PERCENTILE = 3
    BUSY_THRESHOLD = 4


class RollupLevel(IntEnum):
    """How much time one roll-up covers, beginning at a multiple of that; finest first.

    The numbers are stored and never change their meaning.
    """

    MINUTE = 1
    HOUR = 2
    DAY = 3

    @property
    def length(self) -> int:
        """The milliseconds that one roll-up covers."""
        return _LENGTHS[self]

    def begin_of(self, at: int) -> int:
        """Return when the roll-up that covers a time begins (milliseconds)."""
        return at - at % _LENGTHS[self]


_LENGTHS: Final = {
    RollupLevel.MINUTE: MINUTE,
    RollupLevel.HOUR: 60 * MINUTE,
    RollupLevel.DAY: 24 * 60 * MINUTE,
}


class TimedFee(NamedTuple):
    """One fee and its time (milliseconds); `is_estimated` if the time is a guess."""

    at: int
    fee: Wei
    is_estimated: bool = False


class SavedFee(NamedTuple):
    """A fee that was just saved, and the fee that it replaced, if any."""

    fee: TimedFee
    replaced: TimedFee | None = None


SavedFees: TypeAlias = Mapping[FeeSeries, Sequence[SavedFee]]


class FeeSuggestion(Struct, frozen=True):
    """One level (low, medium or high) of `suggestedGasFees`."""

    suggested_max_priority_fee_per_gas: Wei
    suggested_max_fee_per_gas: Wei
    min_wait_time_estimate: timedelta
    max_wait_time_estimate: timedelta


class SuggestedGasFees(Struct, frozen=True):
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


class BlockFees(Struct, frozen=True):
    """The fees of one block.

    `base_fee_per_gas` is the block's own. `rewards` are priority fees in wei at the percentiles
    that were asked for, ascending; empty if the node gave none.
    """

    number: int
    base_fee_per_gas: Wei
    gas_used_ratio: float
    rewards: tuple[Wei, ...] = ()


class GasSource(StrEnum):
    """Who answered for a fee.

    NODE_INSTEAD: the node, because the gas API of the network did not answer. DEMO_HISTORY: nobody,
    the fee was made up for trying out the pages.
    """

    GAS_API = "gas API"
    NODE = "node"
    NODE_INSTEAD = "node instead"
    DEMO_HISTORY = "demo history"

    def is_better_than(self, other: GasSource) -> bool:
        """Whether its answer replaces an answer of the other source for the same moment."""
        return _TRUST[self] > _TRUST[other]


_TRUST = {
    GasSource.GAS_API: 2,
    GasSource.NODE: 2,
    GasSource.NODE_INSTEAD: 1,
    GasSource.DEMO_HISTORY: 0,
}


class GasObservation(Struct, frozen=True):
    """What one gas poll saw; a field is None if that operation was not asked or failed.

    `sources` says who answered an operation; an operation that is missing there was answered by the
    gas API. If the node answered instead, `failures` may still hold the failure of the gas API.
    """

    network_id: NetworkId
    asked_at: datetime
    suggested_gas_fees: SuggestedGasFees | None = None
    base_fee_history: tuple[Wei, ...] | None = None
    base_fee_percentile: Wei | None = None
    busy_threshold: Wei | None = None
    failures: tuple[tuple[Operation, Failure], ...] = ()
    sources: Mapping[Operation, GasSource] = field(default_factory=dict)

    def source_of(self, operation: Operation) -> GasSource:
        return self.sources.get(operation, GasSource.GAS_API)


_DAY: Final = timedelta(days=1)


class GasPeriods(Struct, frozen=True):
    """How often each operation is asked; the job runs every `gas_period`."""

    gas_period: timedelta
    history_period: timedelta
    threshold_period: timedelta

    def of_operations(self) -> tuple[tuple[Operation, timedelta], ...]:
        return (
            (Operation.SUGGESTED_GAS_FEES, self.gas_period),
            (Operation.BUSY_THRESHOLD, self.threshold_period),
            (Operation.BASE_FEE_PERCENTILE, self.threshold_period),
            (Operation.BASE_FEE_HISTORY, self.history_period),
        )

    def calls_per_day(self) -> dict[str, int]:
        return {each: -(-_DAY // period) for each, period in self.of_operations()}
