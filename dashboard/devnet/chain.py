"""The chain: base fee, gas and number of transactions of every block, from a genesis alone."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from dashboard.devnet.fee_demand import FeeDemand
from dashboard.devnet.seeded_random import SeededRandom
from dashboard.domain.fee_suggestion import next_base_fee
from dashboard.domain.quantity import WEI_PER_GWEI, NetworkId, Wei

DEVNET_ID: Final = NetworkId(424242)
BLOCK_SECONDS: Final = 2
GAS_LIMIT: Final = 8_000_000
GENESIS_BASE_FEE: Final = Wei(10 * WEI_PER_GWEI)

_LEAST_GAS: Final = GAS_LIMIT // 10
_HALF: Final = GAS_LIMIT // 2
_STRETCH: Final = 16  # blocks between two computed prices
_SEGMENT: Final = 256 * _STRETCH
_KEPT_SEGMENTS: Final = 16

# The factor of a block's gas for each random byte: 0.6 to 1.4, in thousandths.
_SCATTER: Final = tuple(600 + byte * 800 // 255 for byte in range(256))


@dataclass(frozen=True, slots=True)
class Genesis:
    """What a devnet is computed from; `timestamp` is in Unix seconds."""

    seed: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Block:
    """One block; `first_transaction` counts the chain's own transactions before this block."""

    number: int
    timestamp: datetime
    base_fee_per_gas: Wei
    gas_used: int
    transaction_count: int
    first_transaction: int


@dataclass(frozen=True, slots=True)
class _Start:
    """The state of the chain where a segment starts."""

    base_fee: Wei
    first_transaction: int


@dataclass(frozen=True, slots=True)
class _Segment:
    """Consecutive blocks as plain arrays, and the start of what follows them."""

    base_fees: array[int]
    gas_used: array[int]
    first_transactions: array[int]
    following: _Start


class Chain:
    """Every block, past and future.

    Nothing is stored: blocks are computed again from the genesis, some 700,000 in a second, and
    only the start of each segment of 4,096 blocks stays in memory. After a month without power
    (1.3 million blocks) that takes two seconds, once.
    """

    def __init__(self, genesis: Genesis) -> None:
        """Begin at `genesis`; nothing is computed yet."""
        self.genesis = genesis
        self.random = SeededRandom(genesis.seed)
        self._demand = FeeDemand(self.random)
        self._starts = [_Start(GENESIS_BASE_FEE, 0)]
        self._segments: dict[int, _Segment] = {}

    def head(self, moment: datetime) -> int:
        """Return the number of the newest block at `moment`, 0 before the genesis."""
        return max(0, (int(moment.timestamp()) - self.genesis.timestamp) // BLOCK_SECONDS)

    def block(self, number: int) -> Block:
        """Return block `number`, which may lie in the future."""
        segment = self._segment(number // _SEGMENT)
        at = number % _SEGMENT
        first = segment.first_transactions[at]
        return Block(
            number=number,
            timestamp=self.timestamp(number),
            base_fee_per_gas=Wei(segment.base_fees[at]),
            gas_used=segment.gas_used[at],
            transaction_count=segment.first_transactions[at + 1] - first,
            first_transaction=first,
        )

    def timestamp(self, number: int) -> datetime:
        """Return when block `number` is made."""
        return datetime.fromtimestamp(self._unix(number), tz=UTC)

    def _unix(self, number: int) -> int:
        return self.genesis.timestamp + number * BLOCK_SECONDS

    def _segment(self, index: int) -> _Segment:
        if index in self._segments:
            return self._segments[index]
        while len(self._starts) <= index:
            self._starts.append(self._compute(len(self._starts) - 1).following)
        segment = self._segments[index] = self._compute(index)
        if len(self._segments) > _KEPT_SEGMENTS:
            del self._segments[next(iter(self._segments))]
        return segment

    def _compute(self, index: int) -> _Segment:
        scatter = self.random.stream("scatter", index, 2 * _SEGMENT)
        start = self._starts[index]
        base_fee, transactions = start.base_fee, start.first_transaction
        base_fees, gas, firsts = array("Q"), array("Q"), array("Q", [transactions])
        for at, price in enumerate(self._prices(index)):
            used = _HALF * price * _SCATTER[scatter[at]] // (base_fee * 1000)
            used = min(GAS_LIMIT, max(_LEAST_GAS, used)) if index or at else 0
            transactions += used // (220_000 + 700 * scatter[_SEGMENT + at])
            base_fees.append(base_fee)
            gas.append(used)
            firsts.append(transactions)
            base_fee = next_base_fee(base_fee, used, GAS_LIMIT)
        return _Segment(base_fees, gas, firsts, _Start(base_fee, transactions))

    def _prices(self, index: int) -> list[int]:
        """Return the price of demand in each block, linear between computed ones."""
        numbers = range(index * _SEGMENT, (index + 1) * _SEGMENT + 1, _STRETCH)
        prices = [self._demand.price(self._unix(number)) for number in numbers]
        return [
            here + (there - here) * step // _STRETCH
            for here, there in pairwise(prices)
            for step in range(_STRETCH)
        ]
