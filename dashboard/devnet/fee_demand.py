"""Fee demand: the base fee at which blocks would be half full, by hour and weekday, with bursts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.devnet.seeded_random import SeededRandom, between
from dashboard.domain.quantity import WEI_PER_GWEI, Wei

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
    """What senders would pay at any moment, computed from a seed alone."""

    def __init__(self, random: SeededRandom) -> None:
        """Draw drift and bursts from `random`."""
        self._random = random

    def price(self, timestamp: int) -> Wei:
        """Return the base fee in wei at which a block of that Unix second is half full."""
        price = _USUAL * _along(_BY_HOUR, timestamp, _HOUR) // _THOUSAND
        price = price * _along(_FROM_THURSDAY, timestamp, _DAY) // _THOUSAND
        price = price * self._drift(timestamp) // _THOUSAND
        return Wei(price * self._burst(timestamp) // _THOUSAND)

    def prices(self, timestamps: Int64Array) -> Int64Array:
        """Return the same for many Unix seconds, ascending, hundreds of times as fast."""
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
        """Return the seconds at which the burst of a slot begins and ends, and its height."""
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
    """Return heights at times, linear between the points at whole steps."""
    steps, passed = np.divmod(timestamps, step_seconds)
    first = int(steps[0])
    points = np.array([height_at(step) for step in range(first, int(steps[-1]) + 2)])
    here, there = points[steps - first], points[steps - first + 1]
    heights: Int64Array = here + (there - here) * passed // step_seconds
    return heights
