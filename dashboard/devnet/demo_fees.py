"""The fees of a simulated network at any time of the past, for millions of blocks at once."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.devnet.fee_demand import FeeDemand, Int64Array, between_points
from dashboard.devnet.networks import DEVNET, SimulatedNetwork
from dashboard.devnet.seeded_random import SeededRandom, between

SeenMask: TypeAlias = npt.NDArray[np.bool_]

_THOUSAND: Final = 1000
_DAY: Final = 24 * 3600
_SEASON: Final = 16 * _DAY
_BLOCK: Final = 2
_BLOCKS: Final = _DAY // _BLOCK
_OUTAGE_SLOT: Final = 8 * _DAY
_OUTAGE_CHANCE: Final = 96  # of 256 slots
_SHORTEST_OUTAGE: Final = 600
_LENGTHS: Final = 10  # each twice as long as the one before


class DemoFees:
    """Base fees and priority fees by Unix second, computed from a seed alone.

    They follow the demand that the chain will have at `until`, in seasons that fade before it.
    """

    def __init__(self, seed: int, network: SimulatedNetwork, until: datetime) -> None:
        """Compute nothing yet; the demand of the devnet itself is that of its chain."""
        self._random = SeededRandom(seed + network.network_id - DEVNET.network_id)
        self._network = network
        self._demand = FeeDemand(self._random)
        self._until = int(until.timestamp())

    def prices(self, timestamps: Int64Array) -> Int64Array:
        """Return demand in wei at Unix seconds, ascending; base fees scatter around it."""
        season = between_points(self._season_at, timestamps, _SEASON)
        before_the_chain = np.clip(self._until - timestamps, 0, _SEASON)
        season = _THOUSAND + season * before_the_chain // _SEASON
        return self._demand.prices(timestamps) * season // _THOUSAND

    def base_fees(self, timestamps: Int64Array) -> Int64Array:
        """Return the base fees in wei at Unix seconds, ascending."""
        network = self._network
        return network.base_fee + self._scattered(timestamps) * network.base_fee_share // _THOUSAND

    def priority_fees(self, timestamps: Int64Array) -> Int64Array:
        """Return what a transaction of medium priority pays, in wei."""
        return self._scattered(timestamps) * self._network.priority_fee_share // _THOUSAND

    def is_observed(self, timestamps: Int64Array) -> SeenMask:
        """Return at which Unix seconds, ascending, polls ran."""
        if not self._network.has_outages:
            return np.ones(len(timestamps), np.bool_)
        slots, passed = np.divmod(timestamps, _OUTAGE_SLOT)
        first = int(slots[0])
        outages = np.array([self._outage(slot) for slot in range(first, int(slots[-1]) + 1)])
        begins, ends = outages[slots - first].T
        is_watched: SeenMask = (passed < begins) | (ends <= passed)
        return is_watched

    def _scattered(self, timestamps: Int64Array) -> Int64Array:
        """Scatter demand by four percent either way, block by block."""
        days, passed = np.divmod(timestamps, _DAY)
        first = int(days[0])
        noise = b"".join(
            self._random.stream("history", day, _BLOCKS) for day in range(first, int(days[-1]) + 1)
        )
        octets = np.frombuffer(noise, np.uint8)[(days - first) * _BLOCKS + passed // _BLOCK]
        share = 960 + octets.astype(np.int64) * 81 // 256
        scattered: Int64Array = self.prices(timestamps) * share // _THOUSAND
        return scattered

    def _season_at(self, number: int) -> int:
        return between(-300, 500, self._random.draw("season", number, 2))

    def _outage(self, slot: int) -> tuple[int, int]:
        """Return the seconds of a slot at which an outage begins and ends; minutes to days long."""
        happens, length, *begin = self._random.draw("outage", slot, 4)
        if happens >= _OUTAGE_CHANCE:
            return 0, 0
        seconds = _SHORTEST_OUTAGE << length % _LENGTHS
        begins = between(0, _OUTAGE_SLOT - seconds, bytes(begin))
        return begins, begins + seconds
