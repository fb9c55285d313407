"""Fees counted by size: any quantile of millions of them, to one part in 64, from some bytes.

The sizes are those of an HdrHistogram: below 128 wei each fee is counted by itself, above that
each doubling is cut into 64 equal parts. All is integer arithmetic, so that counts of minutes
added up are exactly the counts of their hour.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Final, Self

from dashboard.domain.quantity import Wei

PARTS_BITS: Final = 6
PARTS: Final = 1 << PARTS_BITS
"""Equal parts of a doubling: a part is at most 1/64 as wide as its smallest fee."""

_WIDTHS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Bytes of a count in the encoded form, and what the module struct calls them."""


def part_of(fee: Wei) -> int:
    """Return the number of the part that a fee is counted in; larger fees have larger ones."""
    shift = max(0, fee.bit_length() - PARTS_BITS - 1)
    return (shift << PARTS_BITS) + (fee >> shift)


def middle_of(part: int) -> Wei:
    """Return the fee that stands for all of a part, at most 1/128 away from each."""
    shift = max(0, (part >> PARTS_BITS) - 1)
    lowest = (part - (shift << PARTS_BITS)) << shift
    return Wei(lowest + (1 << shift >> 1))


class FeeHistogram:
    """How many fees there were in each part; two are merged by adding."""

    __slots__ = ("_counts",)

    def __init__(self, counts: dict[int, int] | None = None) -> None:
        """Start with counts by part, which are taken over, or with none."""
        self._counts = {} if counts is None else counts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeeHistogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"FeeHistogram({dict(sorted(self._counts.items()))})"

    def add(self, fee: Wei) -> None:
        """Count one more fee."""
        part = part_of(fee)
        self._counts[part] = self._counts.get(part, 0) + 1

    def remove(self, fee: Wei) -> None:
        """Take back a fee that was counted; ValueError where no such was."""
        part = part_of(fee)
        count = self._counts.get(part, 0)
        if not count:
            raise ValueError(f"no fee like {fee} wei was counted")
        if count == 1:
            del self._counts[part]
        else:
            self._counts[part] = count - 1

    def merge(self, other: FeeHistogram) -> None:
        """Count all that the other one counted."""
        counts, get = self._counts, self._counts.get
        for part, count in other._counts.items():
            counts[part] = get(part, 0) + count

    @property
    def count(self) -> int:
        """How many fees were counted."""
        return sum(self._counts.values())

    def holds(self, other: FeeHistogram) -> bool:
        """Whether all that the other one counted can be among what this one did."""
        get = self._counts.get
        return all(count <= get(part, 0) for part, count in other._counts.items())

    def quantiles(self, *percents: Fraction | int) -> tuple[Wei, ...]:
        """Return nearest-rank percentiles (ascending), each at most 1/128 off the exact one.

        ValueError where nothing was counted.
        """
        if not self._counts:
            raise ValueError("an empty histogram has no quantile")
        ascending = sorted(self._counts.items())
        total = self.count
        found, place, passed = [], 0, ascending[0][1]
        for percent in percents:
            rank = max(1, int(-(-total * percent // 100)))
            while passed < rank:
                place += 1
                passed += ascending[place][1]
            found.append(middle_of(ascending[place][0]))
        return tuple(found)

    def encode(self) -> bytes:
        """Write it in few bytes: the width of a count, then parts, ascending, then counts."""
        if not self._counts:
            return b""
        parts = sorted(self._counts)
        counts = [self._counts[part] for part in parts]
        largest = max(counts).bit_length()
        width, kind = next((each, kind) for each, kind in _WIDTHS.items() if largest <= 8 * each)
        return struct.pack(f"<B{len(parts)}H{len(parts)}{kind}", width, *parts, *counts)

    @classmethod
    def decode(cls, octets: bytes) -> Self:
        """Read what `encode` wrote; ValueError where it did not."""
        if not octets:
            return cls()
        kind = _WIDTHS.get(octets[0])
        length, rest = divmod(len(octets) - 1, 2 + octets[0])
        if kind is None or rest:
            raise ValueError(f"{len(octets)} bytes from {octets[:1]!r} on are no histogram of fees")
        numbers = struct.unpack_from(f"<{length}H{length}{kind}", octets, 1)
        return cls(dict(zip(numbers[:length], numbers[length:], strict=True)))
