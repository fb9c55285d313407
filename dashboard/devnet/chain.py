"""The chain: base fee, gas and number of transactions of every block, computed from the genesis."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dashboard.devnet.genesis import BLOCK_SECONDS, Genesis
from dashboard.domain.fees.suggestion import next_base_fee
from dashboard.domain.quantity import WEI_PER_GWEI, Wei

GAS_LIMIT: Final = 8_000_000
GENESIS_BASE_FEE: Final = Wei(10 * WEI_PER_GWEI)

_LEAST_GAS: Final = GAS_LIMIT // 10
_HALF: Final = GAS_LIMIT // 2
_STRETCH: Final = 16  # blocks between two computed prices
_SEGMENT: Final = 256 * _STRETCH
_KEPT_SEGMENTS: Final = 16

# The factor of a block's gas for each random byte: 0.6 to 1.4, in thousandths.
_SCATTER: Final = tuple(600 + byte * 800 // 255 for byte in range(256))


class Block(Struct, frozen=True):
    """One block; `first_transaction` counts the chain's own transactions before this block."""

    number: int
    timestamp: datetime
    base_fee_per_gas: Wei
    gas_used: int
    transaction_count: int
    first_transaction: int


class _Start(Struct, frozen=True):
    """The state of the chain where a segment starts."""

    base_fee: Wei
    first_transaction: int


class _Segment(Struct, frozen=True):
    """Consecutive blocks as plain arrays, and the start of the next segment."""

    base_fees: array[int]
    gas_used: array[int]
    first_transactions: array[int]
    following: _Start


class Chain:
    """Every block, past and future.

    Nothing is stored: blocks are computed again from the genesis, about 700,000 a second, and only
    the start of each segment of 4,096 blocks stays in memory. After a month of downtime (1.3
    million blocks) that takes two seconds, once.
    """

    def __init__(self, genesis: Genesis) -> None:
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
        """Return the time of block `number`."""
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
        """Return the price of demand for each block, interpolated between computed ones."""
        numbers = range(index * _SEGMENT, (index + 1) * _SEGMENT + 1, _STRETCH)
        prices = [self._demand.price(self._unix(number)) for number in numbers]
        return [
            here + (there - here) * step // _STRETCH
            for here, there in pairwise(prices)
            for step in range(_STRETCH)
        ]


Int64Array: TypeAlias = npt.NDArray[np.int64]

_USUAL: Final = 12 * WEI_PER_GWEI
_THOUSAND: Final = 1000
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR

# Thousandths of the usual demand. Nights (UTC) are calm, afternoons busy.
_BY_HOUR: Final = (
    *(920, 890, 860, 840, 820, 810, 820, 840, 880, 920, 970, 1020),
    *(1070, 1110, 1150, 1180, 1190, 1170, 1140, 1100, 1060, 1020, 990, 950),
)
_FROM_THURSDAY: Final = (1050, 1020, 920, 880, 1000, 1040, 1060)  # 1970-01-01 was a Thursday

_DRIFT_SECONDS: Final = 1200
_BURST_SECONDS: Final = 360
_BURST_CHANCE: Final = 150  # of 256


class FeeDemand:
    """What senders would pay at any moment, computed from the seed."""

    def __init__(self, random: SeededRandom) -> None:
        self._random = random

    def price(self, timestamp: int) -> Wei:
        """Return the base fee in wei at which a block at that Unix second is half full."""
        price = _USUAL * _along(_BY_HOUR, timestamp, _HOUR) // _THOUSAND
        price = price * _along(_FROM_THURSDAY, timestamp, _DAY) // _THOUSAND
        price = price * self._drift(timestamp) // _THOUSAND
        return Wei(price * self._burst(timestamp) // _THOUSAND)

    def prices(self, timestamps: Int64Array) -> Int64Array:
        """Return the same for many Unix seconds, ascending, hundreds of times faster."""
        price = _USUAL * _along_all(_BY_HOUR, timestamps, _HOUR) // _THOUSAND
        price = price * _along_all(_FROM_THURSDAY, timestamps, _DAY) // _THOUSAND
        price = price * between_points(self._drift_at, timestamps, _DRIFT_SECONDS) // _THOUSAND
        return price * self._bursts(timestamps) // _THOUSAND

    def _drift(self, timestamp: int) -> int:
        step, passed = divmod(timestamp, _DRIFT_SECONDS)
        here, there = self._drift_at(step), self._drift_at(step + 1)
        return here + (there - here) * passed // _DRIFT_SECONDS

    def _drift_at(self, number: int) -> int:
        return between(850, 1150, self._random.draw("mood", number, 2))

    def _burst(self, timestamp: int) -> int:
        slot, passed = divmod(timestamp, _BURST_SECONDS)
        begin, end, height = self._burst_of(slot)
        return height if begin <= passed < end else _THOUSAND

    def _bursts(self, timestamps: Int64Array) -> Int64Array:
        slots, passed = np.divmod(timestamps, _BURST_SECONDS)
        first = int(slots[0])
        bursts = np.array([self._burst_of(slot) for slot in range(first, int(slots[-1]) + 1)])
        begin, end, height = bursts[slots - first].T
        return np.where((begin <= passed) & (passed < end), height, _THOUSAND)

    def _burst_of(self, slot: int) -> tuple[int, int, int]:
        """Return when the burst of a slot begins and ends, in seconds, and its height."""
        happens, begin, length, first, second = self._random.draw("burst", slot, 5)
        if happens >= _BURST_CHANCE:
            return 0, 0, _THOUSAND
        start = begin * 200 // 256
        height = 1500 + max(0, first + second - 200) * 6 + first
        return start, start + 36 + length * 80 // 256, height


def _along(shape: tuple[int, ...], timestamp: int, step_seconds: int) -> int:
    """Return the value of a repeating shape, linear between its points."""
    step, passed = divmod(timestamp, step_seconds)
    here, there = shape[step % len(shape)], shape[(step + 1) % len(shape)]
    return here + (there - here) * passed // step_seconds


def _along_all(shape: tuple[int, ...], timestamps: Int64Array, step_seconds: int) -> Int64Array:
    return between_points(lambda step: shape[step % len(shape)], timestamps, step_seconds)


def between_points(
    height_at: Callable[[int], int], timestamps: Int64Array, step_seconds: int
) -> Int64Array:
    """Return heights at times, interpolated between the points at whole steps."""
    steps, passed = np.divmod(timestamps, step_seconds)
    first = int(steps[0])
    points = np.array([height_at(step) for step in range(first, int(steps[-1]) + 2)])
    here, there = points[steps - first], points[steps - first + 1]
    heights: Int64Array = here + (there - here) * passed // step_seconds
    return heights


_KEY_BYTES: Final = 32


class SeededRandom:
    """An endless supply of numbered draws; the same seed always gives the same bytes."""

    def __init__(self, seed: int) -> None:
        """Accept any whole number as `seed`."""
        self._key = hashlib.blake2b(str(seed).encode(), digest_size=_KEY_BYTES).digest()

    def draw(self, purpose: str, number: int, size: int = 32) -> bytes:
        """Return `size` bytes (at most 64) for `purpose` (at most 16 letters) and `number`."""
        text = str(number).encode()
        return hashlib.blake2b(
            text, digest_size=size, key=self._key, person=purpose.encode()
        ).digest()

    def stream(self, purpose: str, number: int, size: int) -> bytes:
        """Return any number of bytes at once, far cheaper than as many draws."""
        return hashlib.shake_128(self._key + f"{purpose}:{number}".encode()).digest(size)


def between(low: int, high: int, octets: bytes) -> int:
    """Convert bytes to a number from `low` to `high`, both included."""
    return low + int.from_bytes(octets, "big") % (high - low + 1)
