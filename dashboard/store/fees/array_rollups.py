"""Arrays of fees rolled up at once: the same as one by one, a hundred times as fast."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.fee_histogram import PARTS, PARTS_BITS
from dashboard.domain.fee_rollup import Level

Integers: TypeAlias = npt.NDArray[np.int64]
"""Fees in wei, which 64 bits have room for, or times in milliseconds since the epoch."""

_MOST_PARTS: Final = 4096
_PART_BITS: Final = 12
_HALF: Final = 32
_LOWER_HALF: Final = (1 << _HALF) - 1
_PERCENTS: Final = (50, 90)


class FeeArrays:
    """Fees in wei by time in milliseconds, strictly ascending, of one series."""

    def __init__(self, at: Integers, fees: Integers) -> None:
        """Take the values."""
        self._at = at
        self._fees = fees
        self._parts = _parts(fees)

    def rows(self, network_id: int, series: int, level: Level) -> list[tuple[Any, ...]]:
        """Return each roll-up as a row with all columns, oldest first."""
        begins = self._at - self._at % level.length
        starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
        ends = np.append(starts[1:], len(begins))
        lowest = np.minimum.reduceat(self._fees, starts)
        highest = np.maximum.reduceat(self._fees, starts)
        counted = _count(self._parts, starts)
        median, p90 = (np.clip(counted.quantile(percent), lowest, highest) for percent in _PERCENTS)
        seen = ends - starts
        return list(
            zip(
                repeat(network_id),
                repeat(int(series)),
                repeat(int(level)),
                begins[starts].tolist(),
                self._at[starts].tolist(),
                self._at[ends - 1].tolist(),
                lowest.tolist(),
                highest.tolist(),
                self._totals(starts),
                seen.tolist(),
                np.zeros_like(seen).tolist(),
                median.tolist(),
                p90.tolist(),
                self._fees[ends - 1].tolist(),
                self._gaps(starts).tolist(),
                counted.encode(),
                strict=False,
            )
        )

    def _gaps(self, starts: Integers) -> Integers:
        silences = np.diff(self._at, prepend=0)
        silences[starts] = 0  # what was before them is none of theirs
        gaps: Integers = np.maximum.reduceat(silences, starts)
        return gaps

    def _totals(self, starts: Integers) -> list[bytes]:
        """Add up in two halves: sums need more than the 64 bits that fees have room in."""
        upper = np.add.reduceat(self._fees >> _HALF, starts).tolist()
        lower = np.add.reduceat(self._fees & _LOWER_HALF, starts).tolist()
        sums = ((high << _HALF) + low for high, low in zip(upper, lower, strict=True))
        return [total.to_bytes((total.bit_length() + 7) // 8, "big") for total in sums]


@dataclass(frozen=True, slots=True)
class Counted:
    """Histograms of many stretches in one: those of one stretch stand from its start on."""

    starts: Integers
    parts: Integers
    counts: Integers

    def quantile(self, percent: int) -> Integers:
        """Return the nearest-rank percentile of each, as FeeHistogram tells it."""
        passed = np.cumsum(self.counts)
        before = np.append(0, passed)[self.starts]
        totals = np.add.reduceat(self.counts, self.starts)
        ranks = np.maximum(1, -(-totals * percent // 100))
        return _middles(self.parts[np.searchsorted(passed, before + ranks)])

    def encode(self) -> list[bytes]:
        """Write each as FeeHistogram does; all at once, then cut."""
        lengths = np.diff(self.starts, append=len(self.parts))
        largest = np.maximum.reduceat(self.counts, self.starts)
        widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4))
        begins = np.append(0, np.cumsum(1 + lengths * (2 + widths)))
        octets = np.zeros(begins[-1], np.uint8)
        octets[begins[:-1]] = widths
        place = np.arange(len(self.parts)) - np.repeat(self.starts, lengths)
        _lay(octets, np.repeat(begins[:-1] + 1, lengths) + 2 * place, self.parts, 2)
        counts_at = np.repeat(begins[:-1] + 1 + 2 * lengths, lengths)
        width = np.repeat(widths, lengths)
        for each in (1, 2, 4):
            here = width == each
            _lay(octets, (counts_at + each * place)[here], self.counts[here], each)
        whole = octets.tobytes()
        return [whole[begin:end] for begin, end in pairwise(begins.tolist())]


def _lay(octets: npt.NDArray[np.uint8], places: Integers, numbers: Integers, width: int) -> None:
    """Write numbers at places, in so many bytes each, the least significant one first."""
    for octet in range(width):
        octets[places + octet] = numbers >> 8 * octet & 0xFF


def _count(parts: Integers, starts: Integers) -> Counted:
    """Count how often each part occurs in each stretch."""
    stretch = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(parts)))
    keys = np.sort(stretch << _PART_BITS | parts)
    firsts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    found = keys[firsts]
    stretches = found >> _PART_BITS
    return Counted(
        starts=np.flatnonzero(np.diff(stretches, prepend=-1)),
        parts=found & _MOST_PARTS - 1,
        counts=np.diff(firsts, append=len(keys)),
    )


def _parts(fees: Integers) -> Integers:
    """Return what `part_of` tells of each."""
    bits = np.frexp(fees.astype(np.float64))[1].astype(np.int64)
    bits -= fees >> np.maximum(bits - 1, 0) == 0  # a float may round up to the next power of two
    shifts = np.maximum(0, bits - PARTS_BITS - 1)
    return (shifts << PARTS_BITS) + (fees >> shifts)


def _middles(parts: Integers) -> Integers:
    """Return what `middle_of` tells of each."""
    shifts = np.maximum(0, (parts >> PARTS_BITS) - 1)
    lowest = (parts - shifts * PARTS) << shifts
    middles: Integers = lowest + (np.left_shift(1, shifts) >> 1)
    return middles
