"""Roll-ups as arrays: the same as one by one, a hundred times as fast.

`FeeArrays` rolls fees up, `RollupArrays` checks stored roll-ups by the ten thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.fees.rollup import PARTS, PARTS_BITS, RollupLevel
from dashboard.store.engine.driver import Row

Integers: TypeAlias = npt.NDArray[np.int64]
"""Fees in wei, which 64 bits have room for, or times in milliseconds since the epoch."""

_MOST_PARTS: Final = 4096
_PART_BITS: Final = 12
_HALF: Final = 32
_LOWER_HALF: Final = (1 << _HALF) - 1
_PERCENTS: Final = (50, 90)


_WIDTHS: Final = (1, 2, 4, 8)
_LARGEST_SUM: Final = 2**53
"""Up to which a float counts exactly."""


class FeeArrays:
    """Fees in wei by time in milliseconds, strictly ascending, of one series."""

    def __init__(self, at: Integers, fees: Integers) -> None:
        """Take the values."""
        self._at = at
        self._fees = fees
        self._parts = _parts(fees)

    def rows(self, network_id: int, series: int, level: RollupLevel) -> list[tuple[Any, ...]]:
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
        silences[starts] = 0  # what was before them does not count
        gaps: Integers = np.maximum.reduceat(silences, starts)
        return gaps

    def _totals(self, starts: Integers) -> list[bytes]:
        """Add up in two halves: sums need more than the 64 bits that fees have room in."""
        upper = np.add.reduceat(self._fees >> _HALF, starts).tolist()
        lower = np.add.reduceat(self._fees & _LOWER_HALF, starts).tolist()
        sums = ((high << _HALF) + low for high, low in zip(upper, lower, strict=True))
        return [total.to_bytes((total.bit_length() + 7) // 8, "big") for total in sums]


@dataclass(frozen=True, slots=True)
class HistogramColumns:
    """Histograms of many stretches in one: those of one stretch stand from its start on."""

    starts: Integers
    parts: Integers
    counts: Integers

    def quantile(self, percent: int) -> Integers:
        """Return the nearest-rank percentile of each, as FeeHistogram does."""
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
        _write_numbers(octets, np.repeat(begins[:-1] + 1, lengths) + 2 * place, self.parts, 2)
        counts_at = np.repeat(begins[:-1] + 1 + 2 * lengths, lengths)
        width = np.repeat(widths, lengths)
        for each in (1, 2, 4):
            here = width == each
            _write_numbers(octets, (counts_at + each * place)[here], self.counts[here], each)
        whole = octets.tobytes()
        return [whole[begin:end] for begin, end in pairwise(begins.tolist())]


def _write_numbers(
    octets: npt.NDArray[np.uint8], places: Integers, numbers: Integers, width: int
) -> None:
    """Write numbers at places, in so many bytes each, the least significant one first."""
    for octet in range(width):
        octets[places + octet] = numbers >> 8 * octet & 0xFF


def _count(parts: Integers, starts: Integers) -> HistogramColumns:
    """Count how often each part occurs in each stretch."""
    stretch = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(parts)))
    keys = np.sort(stretch << _PART_BITS | parts)
    firsts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    found = keys[firsts]
    stretches = found >> _PART_BITS
    return HistogramColumns(
        starts=np.flatnonzero(np.diff(stretches, prepend=-1)),
        parts=found & _MOST_PARTS - 1,
        counts=np.diff(firsts, append=len(keys)),
    )


def _parts(fees: Integers) -> Integers:
    """Return `part_of` each."""
    bits = np.frexp(fees.astype(np.float64))[1].astype(np.int64)
    bits -= fees >> np.maximum(bits - 1, 0) == 0  # a float may round up to the next power of two
    shifts = np.maximum(0, bits - PARTS_BITS - 1)
    return (shifts << PARTS_BITS) + (fees >> shifts)


def _middles(parts: Integers) -> Integers:
    """Return `middle_of` each."""
    shifts = np.maximum(0, (parts >> PARTS_BITS) - 1)
    lowest = (parts - shifts * PARTS) << shifts
    middles: Integers = lowest + (np.left_shift(1, shifts) >> 1)
    return middles


class RollupArrays:
    """Roll-ups of one series and level as rows with all columns, oldest first."""

    def __init__(self, level: RollupLevel, rows: Sequence[Row]) -> None:
        """Take rows; there must be one."""
        columns = list(zip(*rows, strict=True))
        self._level = level
        self.begins, self.first, self.last = (_integers(columns[each]) for each in (3, 4, 5))
        self.lowest, self.highest = (_integers(columns[each]) for each in (6, 7))
        totals = [int.from_bytes(each, "big") for each in columns[8]]
        self.totals = np.array(totals, dtype=object)
        self.seen, self.estimated = (_integers(columns[each]) for each in (9, 10))
        self.median, self.p90 = (_integers(columns[each]) for each in (11, 12))
        self.last_fee, self.gap = (_integers(columns[each]) for each in (13, 14))
        self.histograms = Histograms.decode(columns[15])

    def inconsistent(self) -> Integers:
        """Return when those begin that contradict themselves."""
        lasts_to = self.begins + self._level.length
        wrong = (self.begins % self._level.length != 0) | (self.seen < 1) | (self.gap < 0)
        wrong |= (self.first < self.begins) | (self.last < self.first) | (self.last >= lasts_to)
        wrong |= (self.last_fee < self.lowest) | (self.last_fee > self.highest)
        wrong |= (self.estimated < 0) | (self.estimated > self.seen)
        seen = self.seen.astype(object)
        wrong |= (self.totals < self.lowest * seen) | (self.totals > self.highest * seen)
        counted = self.histograms
        wrong |= counted.sums(len(self.begins)) != self.seen
        for percent, stored in ((50, self.median), (90, self.p90)):
            quantile = counted.quantile(percent, len(self.begins))
            wrong |= np.clip(quantile, self.lowest, self.highest) != stored
        begins: Integers = self.begins[wrong]
        return begins

    def rows(self, network_id: int, series: int) -> list[Row]:
        """Return each as a row with all columns; every histogram has to count something."""
        counted = self.histograms.merged().columns()
        median, p90 = (
            np.clip(counted.quantile(percent), self.lowest, self.highest) for percent in _PERCENTS
        )
        return list(
            zip(
                repeat(network_id),
                repeat(int(series)),
                repeat(int(self._level)),
                self.begins.tolist(),
                self.first.tolist(),
                self.last.tolist(),
                self.lowest.tolist(),
                self.highest.tolist(),
                [total.to_bytes((total.bit_length() + 7) // 8, "big") for total in self.totals],
                self.seen.tolist(),
                self.estimated.tolist(),
                median.tolist(),
                p90.tolist(),
                self.last_fee.tolist(),
                self.gap.tolist(),
                counted.encode(),
                strict=False,
            )
        )

    def rolled_up(self, level: RollupLevel) -> Self:
        """Roll up to a longer level, but for percentiles."""
        begins = self.begins - self.begins % level.length
        starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
        ends = np.append(starts[1:], len(begins)) - 1
        made = object.__new__(type(self))
        made._level = level
        made.begins, made.first, made.last = begins[starts], self.first[starts], self.last[ends]
        made.lowest = np.minimum.reduceat(self.lowest, starts)
        made.highest = np.maximum.reduceat(self.highest, starts)
        made.totals = np.add.reduceat(self.totals, starts)
        made.seen = np.add.reduceat(self.seen, starts)
        made.estimated = np.add.reduceat(self.estimated, starts)
        made.last_fee = self.last_fee[ends]
        between = self.first - np.append(self.first[0], self.last[:-1])
        between[starts] = 0
        made.gap = np.maximum.reduceat(np.maximum(self.gap, between), starts)
        stretch = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(begins)))
        made.histograms = self.histograms.regrouped(stretch)
        return made


class Histograms:
    """Histograms of many roll-ups: `counts` of `parts`, each of the roll-up that it `owners`."""

    def __init__(self, owners: Integers, parts: Integers, counts: Integers) -> None:
        """Take them, those of one owner together and ascending."""
        self.owners, self.parts, self.counts = owners, parts, counts

    @classmethod
    def decode(cls, blobs: Sequence[bytes]) -> Self:
        """Read many; what cannot be read counts nothing."""
        lengths = _integers([len(each) for each in blobs])
        octets = np.frombuffer(b"".join(blobs), np.uint8).astype(np.int64)
        begins = np.append(0, np.cumsum(lengths))[:-1]
        widths = np.zeros_like(lengths)
        widths[lengths > 0] = octets[begins[lengths > 0]]
        of_entry = 2 + widths
        is_read = np.isin(widths, _WIDTHS) & ((lengths - 1) % of_entry == 0)
        entries = np.where(is_read, (lengths - 1) // of_entry, 0)
        owners = np.repeat(np.arange(len(blobs)), entries)
        place = np.arange(len(owners)) - np.repeat(np.cumsum(entries) - entries, entries)
        first = begins[owners] + 1
        at = first + 2 * place
        parts = octets[at] | octets[at + 1] << 8
        counts = np.zeros_like(parts)
        width = widths[owners]
        at = first + 2 * entries[owners] + width * place
        for octet in range(int(width.max(initial=0))):
            has = width > octet
            counts[has] |= octets[at[has] + octet] << 8 * octet
        is_counted = (counts > 0) & (parts >> _PART_BITS == 0)  # no fee is larger
        return cls(owners[is_counted], parts[is_counted], counts[is_counted])

    def regrouped(self, owner_of: Integers) -> Histograms:
        """Give each to another owner; those of one are added up where they are compared."""
        return Histograms(owner_of[self.owners], self.parts, self.counts)

    def merged(self) -> Histograms:
        """Put those of one owner together, each part once."""
        keys = self.owners << _PART_BITS | self.parts
        order = np.argsort(keys, kind="stable")
        ascending = keys[order]
        firsts = np.flatnonzero(np.diff(ascending, prepend=-1))
        owners, parts = ascending[firsts] >> _PART_BITS, self.parts[order][firsts]
        return Histograms(owners, parts, np.add.reduceat(self.counts[order], firsts))

    def sums(self, many: int) -> Integers:
        """Return how much each of so many owners counts."""
        sums: Integers = _summed(self.owners, self.counts, many)
        return sums

    def columns(self) -> HistogramColumns:
        """Return those of owners that count something; each part is there once."""
        starts = np.flatnonzero(np.diff(self.owners, prepend=-1))
        return HistogramColumns(starts, self.parts, self.counts)

    def quantile(self, percent: int, many: int) -> Integers:
        """Return the percentile of each of so many owners, 0 of those that count nothing."""
        found = np.zeros(many, np.int64)
        if len(self.owners):
            counted = self.columns()
            found[self.owners[counted.starts]] = counted.quantile(percent)
        return found


def _summed(places: Integers, numbers: Integers, many: int) -> Integers:
    """Add numbers up by their places."""
    if not len(places):
        return np.zeros(many, np.int64)
    if np.abs(numbers).max() * len(numbers) < _LARGEST_SUM:
        return np.bincount(places, numbers, many).astype(np.int64)
    sums = np.zeros(many, np.int64)
    np.add.at(sums, places, numbers)
    return sums


def _integers(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, np.int64)
