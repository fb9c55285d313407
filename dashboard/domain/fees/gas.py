"""A network's fees in wei: as answered, as one poll saw them, and which of a history are new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.health.observation import Failure, Operation
from dashboard.domain.quantity import NetworkId, Wei


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
    """What one block says about fees.

    `base_fee_per_gas` is the block's own. `gas_used` and `gas_limit` are units of gas.
    `rewards` are priority fees in wei at the percentiles that were asked, ascending; empty
    where the node gave none.
    """

    number: int
    base_fee_per_gas: Wei
    gas_used_ratio: float
    rewards: tuple[Wei, ...] = ()


class GasSource(StrEnum):
    """Who answered for a fee.

    NODE_INSTEAD: the node, since the gas API of the network did not answer. DEMO_HISTORY: nobody,
    it was made up for trying the pages.
    """

    GAS_API = "gas API"
    NODE = "node"
    NODE_INSTEAD = "node instead"
    DEMO_HISTORY = "demo history"

    def is_better_than(self, other: GasSource) -> bool:
        """Whether its answer replaces one of the other source for the same moment."""
        return _TRUST[self] > _TRUST[other]


_TRUST = {
    GasSource.GAS_API: 2,
    GasSource.NODE: 2,
    GasSource.NODE_INSTEAD: 1,
    GasSource.DEMO_HISTORY: 0,
}


@dataclass(frozen=True, slots=True)
class GasObservation:
    """What one gas poll saw; a field is None if that operation was not asked or failed.

    `sources` names who answered an operation; the gas API, if it names nobody. If the node
    answered instead, `failures` may still hold the failure of the gas API.
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
        """Return who answered an operation."""
        return self.sources.get(operation, GasSource.GAS_API)


SMALLEST_OVERLAP: Final = 5
"""Equal values in a row that make an overlap; fewer are equal by chance."""


@dataclass(frozen=True, slots=True)
class HistoryOverlap:
    """How a later answer continues an earlier one, if both have one certain order.

    `base_fees` are the later answer's, the oldest first. Between `fewest` and `most` of them
    belong to blocks that came since.
    """

    base_fees: Sequence[Wei]
    fewest: int
    most: int
    _run_begins: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find where the run of equal base fees begins that each block is in."""
        begins: list[int] = []
        for place, fee in enumerate(self.base_fees):
            goes_on = place > 0 and fee == self.base_fees[place - 1]
            begins.append(begins[-1] if goes_on else place)
        object.__setattr__(self, "_run_begins", begins)

    @property
    def is_certain(self) -> bool:
        """Whether it is known how many blocks came."""
        return self.fewest == self.most

    def common_fee(self, newest: int, oldest: int) -> Wei | None:
        """Return the one base fee of the blocks of these ages, in blocks; None if they differ.

        The newest block has the age 0. However many blocks these are, it takes the same time.
        """
        last = len(self.base_fees) - 1
        is_one_run = self._run_begins[last - newest] <= last - oldest
        return self.base_fees[last - newest] if is_one_run else None


def fits(earlier: Sequence[Wei], later: Sequence[Wei]) -> list[HistoryOverlap]:
    """Return how two answers fit, at most once for each order; empty if they do not.

    Both orders are tried: first the oldest block first, then the newest first. Takes linear time.
    """
    found = []
    for in_order, lengths in (
        (later, overlaps(earlier, later)),
        (later[::-1], overlaps(later, earlier)),
    ):
        if lengths:
            found.append(
                HistoryOverlap(in_order, len(later) - lengths[0], len(later) - lengths[-1])
            )
    return found


def overlaps(earlier: Sequence[Wei], later: Sequence[Wei]) -> list[int]:
    """Return each length, longest first, at which the end of one is the beginning of the other.

    These are the borders of the concatenation, as Knuth, Morris and Pratt find them.
    """
    text: list[Wei | None] = [*later, None, *earlier]
    borders = [0] * len(text)
    length = 0
    for place in range(1, len(text)):
        while length and text[place] != text[length]:
            length = borders[length - 1]
        length += text[place] == text[length]
        borders[place] = length
    found = []
    length = borders[-1]
    while length >= SMALLEST_OVERLAP:
        found.append(length)
        length = borders[length - 1]
    return found
