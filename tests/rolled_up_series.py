"""Fees rolled up one by one: what the arrays of the store are compared with."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple, Self

from dashboard.domain.fees.gas import PARTS_BITS, RollupLevel, TimedFee
from dashboard.domain.quantity import Wei
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.driver import Row
from dashboard.store.fees import rollups as store_rollups
from dashboard.store.fees.stored_fees import SeriesKey

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

    def merge(self, other: FeeHistogram) -> None:
        """Count all that the other one counted."""
        counts, get = self._counts, self._counts.get
        for part, count in other._counts.items():
            counts[part] = get(part, 0) + count

    @property
    def count(self) -> int:
        """How many fees were counted."""
        return sum(self._counts.values())

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


@dataclass(slots=True)
class FeeRollup:
    """What was seen of a fee: `seen` values, the first and the last, `estimated` of them guessed.

    `longest_gap` is the longest silence between two of them, in milliseconds: a roll-up depends on
    nothing but its own values. Percentiles come from the histogram and lie between `lowest` and
    `highest`, which are exact.
    """

    first_at: int
    last_at: int
    lowest: Wei
    highest: Wei
    total: int
    seen: int
    estimated: int
    last: Wei
    longest_gap: int
    histogram: FeeHistogram = field(repr=False)

    @classmethod
    def of(cls, value: TimedFee) -> Self:
        """Begin with one value."""
        at, fee, is_estimated = value
        histogram = FeeHistogram()
        histogram.add(fee)
        return cls(at, at, fee, fee, fee, 1, int(is_estimated), fee, 0, histogram)

    @classmethod
    def of_all(cls, values: Iterable[TimedFee]) -> Self:
        """Roll values up that come in order of time; there must be one."""
        rest = iter(values)
        rollup = cls.of(next(rest))
        for value in rest:
            rollup.add(value)
        return rollup

    @classmethod
    def of_parts(cls, parts: Iterable[FeeRollup]) -> Self:
        """Roll shorter ones up that come in order of time; there must be one."""
        rest = iter(parts)
        first = next(rest)
        whole = cls(
            first.first_at,
            first.last_at,
            first.lowest,
            first.highest,
            first.total,
            first.seen,
            first.estimated,
            first.last,
            first.longest_gap,
            FeeHistogram(),
        )
        whole.histogram.merge(first.histogram)
        for part in rest:
            whole.merge(part)
        return whole

    def add(self, value: TimedFee) -> None:
        """Add a value; one between others leaves the gaps as they are."""
        at, fee, is_estimated = value
        self.longest_gap = max(self.longest_gap, at - self.last_at, self.first_at - at)
        if at >= self.last_at:
            self.last_at, self.last = at, fee
        self.first_at = min(self.first_at, at)
        self.lowest = min(self.lowest, fee)
        self.highest = max(self.highest, fee)
        self.total += fee
        self.seen += 1
        self.estimated += is_estimated
        self.histogram.add(fee)

    def merge(self, other: FeeRollup) -> None:
        """Add the values of another one; of two that overlap, gaps count as they were apart."""
        between = max(other.first_at - self.last_at, self.first_at - other.last_at)
        self.longest_gap = max(self.longest_gap, other.longest_gap, between)
        if other.last_at >= self.last_at:
            self.last_at, self.last = other.last_at, other.last
        self.first_at = min(self.first_at, other.first_at)
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        self.total += other.total
        self.seen += other.seen
        self.estimated += other.estimated
        self.histogram.merge(other.histogram)

    def percentiles(self, *percents: int) -> tuple[Wei, ...]:
        """Return nearest-rank percentiles (ascending), at most 1/128 off the exact ones."""
        found = self.histogram.quantiles(*percents)
        return tuple(min(max(each, self.lowest), self.highest) for each in found)


class RolledUp(NamedTuple):
    """A roll-up and which time it covers."""

    level: RollupLevel
    begins_at: int
    rollup: FeeRollup


def roll_up(values: Iterable[TimedFee]) -> Iterator[RolledUp]:
    """Roll a whole series up, oldest first, at every level; each is yielded once it is whole."""
    open_ones: dict[RollupLevel, RolledUp] = {}
    for value in values:
        for level in RollupLevel:
            begins_at = level.begin_of(value.at)
            held = open_ones.get(level)
            if held is not None and held.begins_at == begins_at:
                held.rollup.add(value)
                continue
            if held is not None:
                yield held
            open_ones[level] = RolledUp(level, begins_at, FeeRollup.of(value))
    yield from open_ones.values()


def row_of(key: SeriesKey, rolled_up: RolledUp) -> Row:
    """Lay a roll-up out as a row with all columns."""
    level, begins_at, rollup = rolled_up
    return (
        *(key.network_id, int(key.series), int(level), begins_at),
        *(rollup.first_at, rollup.last_at, rollup.lowest, rollup.highest),
        _octets_of(rollup.total),
        *(rollup.seen, rollup.estimated, *rollup.percentiles(50, 90)),
        *(rollup.last, rollup.longest_gap, rollup.histogram.encode()),
    )


def rollups_between(
    connection: Connection, key: SeriesKey, level: RollupLevel, since: int, until: int
) -> dict[int, FeeRollup]:
    """Return the stored roll-ups that begin from `since` to before `until`, oldest first."""
    rows = store_rollups.rows_between(connection, key, level, since, until)
    return {row[3]: _rollup_of(row[4:]) for row in rows}


def _rollup_of(row: Row) -> FeeRollup:
    """Read a roll-up back from a row without its key."""
    first_at, last_at, lowest, highest, total, seen, estimated, *rest = row
    _, _, last, gap, histogram = rest
    return FeeRollup(
        first_at,
        last_at,
        lowest,
        highest,
        int.from_bytes(total, "big"),
        seen,
        estimated,
        last,
        gap,
        FeeHistogram.decode(histogram),
    )


def _octets_of(total: int) -> bytes:
    return total.to_bytes((total.bit_length() + 7) // 8, "big")
