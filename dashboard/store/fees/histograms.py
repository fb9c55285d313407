"""Histograms of fees: how many there were of each size, for many roll-ups at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.fees.gas import PARTS, PARTS_BITS

Integers: TypeAlias = npt.NDArray[np.int64]
"""Fees in wei, which fit into 64 bits, or times in milliseconds since the epoch."""

Flags: TypeAlias = npt.NDArray[np.bool_]

_PART_BITS: Final = 12
_WIDTHS: Final = (1, 2, 4, 8)
_LARGEST_SUM: Final = 2**53
"""Up to which a float counts exactly."""


class Histograms:
    """Histograms of many roll-ups: `counts` of `parts`, each of the roll-up that it `owners`."""

    def __init__(self, owners: Integers, parts: Integers, counts: Integers) -> None:
        """Take them, those of one owner together and ascending."""
        self.owners, self.parts, self.counts = owners, parts, counts

    @classmethod
    def decode(cls, blobs: Sequence[bytes]) -> Self:
        """Decode many; one that cannot be read counts nothing."""
        lengths = np.array([len(each) for each in blobs], np.int64)
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
        """Give each part to another owner; parts of the same owner are added when compared."""
        return Histograms(owner_of[self.owners], self.parts, self.counts)

    def merged(self) -> Histograms:
        """Merge the parts of each owner, each part once."""
        keys = self.owners << _PART_BITS | self.parts
        order = np.argsort(keys, kind="stable")
        ascending = keys[order]
        firsts = np.flatnonzero(np.diff(ascending, prepend=-1))
        owners, parts = ascending[firsts] >> _PART_BITS, self.parts[order][firsts]
        counts = np.add.reduceat(self.counts[order], firsts) if len(firsts) else self.counts
        is_left = counts > 0
        return Histograms(owners[is_left], parts[is_left], counts[is_left])

    def beside(self, other: Histograms) -> Histograms:
        return Histograms(
            np.append(self.owners, other.owners),
            np.append(self.parts, other.parts),
            np.append(self.counts, other.counts),
        )

    def chosen(self, is_chosen: Flags) -> Histograms:
        """Return the entries of some owners, which are renumbered."""
        is_kept = is_chosen[self.owners]
        places = np.cumsum(is_chosen) - 1
        return Histograms(places[self.owners[is_kept]], self.parts[is_kept], self.counts[is_kept])

    def holds(self, other: Histograms) -> bool:
        """Whether everything that the other one counted can be among this one, owner by owner."""
        of_all = 1 << _PART_BITS
        ours, theirs = (summed(each.parts, each.counts, of_all) for each in (self, other))
        return bool((ours >= theirs).all())

    def sums(self, many: int) -> Integers:
        sums: Integers = summed(self.owners, self.counts, many)
        return sums

    def quantile(self, percent: int, many: int) -> Integers:
        """Return the nearest-rank percentile of each of so many owners, within 1/128.

        It is 0 for those that count nothing. Each part of an owner occurs once.
        """
        found = np.zeros(many, np.int64)
        if len(self.owners):
            starts = self._starts()
            passed = np.cumsum(self.counts)
            before = np.append(0, passed)[starts]
            totals = np.add.reduceat(self.counts, starts)
            ranks = np.maximum(1, -(-totals * percent // 100))
            parts = self.parts[np.searchsorted(passed, before + ranks)]
            found[self.owners[starts]] = _middles(parts)
        return found

    def encode(self) -> list[bytes]:
        """Encode the histogram of each owner that counts something; each part occurs once.

        They hold the width of a count, then parts, ascending, then counts.
        """
        starts = self._starts()
        lengths = np.diff(starts, append=len(self.parts))
        largest = np.maximum.reduceat(self.counts, starts)
        widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4))
        begins = np.append(0, np.cumsum(1 + lengths * (2 + widths)))
        octets = np.zeros(begins[-1], np.uint8)
        octets[begins[:-1]] = widths
        place = np.arange(len(self.parts)) - np.repeat(starts, lengths)
        _write_numbers(octets, np.repeat(begins[:-1] + 1, lengths) + 2 * place, self.parts, 2)
        counts_at = np.repeat(begins[:-1] + 1 + 2 * lengths, lengths)
        width = np.repeat(widths, lengths)
        for each in (1, 2, 4):
            here = width == each
            _write_numbers(octets, (counts_at + each * place)[here], self.counts[here], each)
        whole = octets.tobytes()
        return [whole[begin:end] for begin, end in pairwise(begins.tolist())]

    def _starts(self) -> Integers:
        """Return where the parts of each owner begin."""
        return np.flatnonzero(np.diff(self.owners, prepend=-1))


def summed(places: Integers, numbers: Integers, many: int) -> Integers:
    """Add numbers up by their places."""
    if not len(places):
        return np.zeros(many, np.int64)
    if np.abs(numbers).max() * len(numbers) < _LARGEST_SUM:
        return np.bincount(places, numbers, many).astype(np.int64)
    sums = np.zeros(many, np.int64)
    np.add.at(sums, places, numbers)
    return sums


def _write_numbers(
    octets: npt.NDArray[np.uint8], places: Integers, numbers: Integers, width: int
) -> None:
    """Write numbers at places, in so many bytes each, the least significant byte first."""
    for octet in range(width):
        octets[places + octet] = numbers >> 8 * octet & 0xFF


def parts_of(fees: Integers) -> Integers:
    """Return the number of the part in which each fee is counted; it rises with the fee."""
    bits = np.frexp(fees.astype(np.float64))[1].astype(np.int64)
    bits -= fees >> np.maximum(bits - 1, 0) == 0  # a float may round up to the next power of two
    shifts = np.maximum(0, bits - PARTS_BITS - 1)
    return (shifts << PARTS_BITS) + (fees >> shifts)


def _middles(parts: Integers) -> Integers:
    """Return the fee that stands for all fees of each part, within 1/128 of any."""
    shifts = np.maximum(0, (parts >> PARTS_BITS) - 1)
    lowest = (parts - shifts * PARTS) << shifts
    middles: Integers = lowest + (np.left_shift(1, shifts) >> 1)
    return middles
