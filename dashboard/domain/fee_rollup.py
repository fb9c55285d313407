"""Roll-ups: what is kept of the fees of a minute, an hour or a day, however many there were.

Times are whole milliseconds since the epoch, as the store keeps them: roll-ups are made by the
million.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple, Self

from dashboard.domain.fee_histogram import FeeHistogram
from dashboard.domain.quantity import Wei

MINUTE: Final = 60_000


class FeeSeries(IntEnum):
    """Which fee is rolled up; the numbers are stored and mean the same for ever."""

    ESTIMATED_BASE_FEE = 1
    MEDIUM_MAX_PRIORITY_FEE = 2
    BASE_FEE_PERCENTILE = 3
    BUSY_THRESHOLD = 4
    IS_BUSY = 5
    """1 where a base fee lay above the threshold that held then, 0 where not."""


class RollupLevel(IntEnum):
    """How long a time one roll-up covers, from a whole multiple of it on; finest first.

    The numbers are stored and mean the same for ever.
    """

    MINUTE = 1
    HOUR = 2
    DAY = 3

    @property
    def length(self) -> int:
        """The milliseconds that one covers."""
        return _LENGTHS[self]

    def begin_of(self, at: int) -> int:
        """Return when the one began that covers a time."""
        return at - at % _LENGTHS[self]


_LENGTHS: Final = {
    RollupLevel.MINUTE: MINUTE,
    RollupLevel.HOUR: 60 * MINUTE,
    RollupLevel.DAY: 24 * 60 * MINUTE,
}


class TimedFee(NamedTuple):
    """One fee, and when; `is_estimated` where the time is only probable."""

    at: int
    fee: Wei
    is_estimated: bool = False


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

    def replace(self, old: TimedFee, new: TimedFee) -> None:
        """Take a value for another of the same time; what the old one bounded stays a bound."""
        if new.at == self.last_at:
            self.last = new.fee
        self.lowest = min(self.lowest, new.fee)
        self.highest = max(self.highest, new.fee)
        self.total += new.fee - old.fee
        self.estimated += new.is_estimated - old.is_estimated
        self.histogram.remove(old.fee)
        self.histogram.add(new.fee)

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
    """Roll a whole series up, oldest first, at every level; each is told as soon as it is whole."""
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
