"""Steps of a fee in columns: an array each, since a chart draws hundreds of steps at once.

Measured on SQLite on a busy machine: to read a year of days, with a row of Python objects for each
step and level, took 7 ms of CPU, and takes 2.5 ms in columns. To merge roll-ups one after the other
into steps of three hours took 45 ms for 90 days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from operator import truediv
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.quantity import Wei
from dashboard.store.engine.driver import Row
from dashboard.store.fees.histograms import Histograms, Integers
from dashboard.store.schema.columns import moment_of

Floats: TypeAlias = npt.NDArray[np.float64]


class FeeStep(NamedTuple):
    """What was seen of a fee during one step: so many `values`, and when the first and the last.

    `mean` is for drawing only. `estimated` of the values have a time that is only probable.
    `median` and `p90` (the 90th percentile) are at most 1/64 off. `longest_gap` is the longest
    pause that ended in this step, as far as it began in the time that was asked for.
    """

    first_at: datetime
    last_at: datetime
    lowest: Wei
    highest: Wei
    mean: float
    values: int
    estimated: int
    median: Wei
    p90: Wei
    longest_gap: timedelta


@dataclass(frozen=True, slots=True, eq=False)
class FeeSteps:
    """Steps of a fee, oldest first: column by column, or one after the other as `FeeStep`."""

    first_at: Integers
    last_at: Integers
    lowest: Integers
    highest: Integers
    means: Floats
    values: Integers
    estimated: Integers
    medians: Integers
    p90s: Integers
    longest_gaps: Integers

    @classmethod
    def of(cls, summaries: Iterable[Row]) -> Self:
        """Make a step of each summary of roll-ups, which come in order of time."""
        columns: list[Any] = list(zip(*summaries, strict=True)) or [()] * 10
        first_at, last_at, lowest, highest, totals, seen, *rest = columns
        sums = map(int.from_bytes, totals)  # which takes the first byte for the largest
        means = np.fromiter(map(truediv, sums, seen), float)
        first_at, last_at = integers(first_at), integers(last_at)
        estimated, medians, p90s, gaps = map(integers, rest)
        gaps = with_pauses(gaps, first_at, last_at)
        bounds = integers(lowest), integers(highest)
        return cls(
            first_at, last_at, *bounds, means, integers(seen), estimated, medians, p90s, gaps
        )

    def __len__(self) -> int:
        return len(self.first_at)

    def __iter__(self) -> Iterator[FeeStep]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> FeeStep:
        return FeeStep(
            moment_of(int(self.first_at[index])),
            moment_of(int(self.last_at[index])),
            Wei(int(self.lowest[index])),
            Wei(int(self.highest[index])),
            float(self.means[index]),
            int(self.values[index]),
            int(self.estimated[index]),
            Wei(int(self.medians[index])),
            Wei(int(self.p90s[index])),
            timedelta(milliseconds=int(self.longest_gaps[index])),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FeeMeans:
    """Means of a fee by steps, oldest first: when the first of so many `values` was seen."""

    first_at: Integers
    means: Floats
    values: Integers

    @classmethod
    def of(cls, rows: Sequence[Row], length: int) -> Self:
        """Merge roll-ups as `total_of` lays them out into steps of so many milliseconds."""
        columns: list[Any] = list(zip(*rows, strict=True)) or [()] * 4
        first_at, _, totals, seen = columns
        return cls._merged(integers(first_at), _sums_of(totals), integers(seen), length)

    @classmethod
    def of_values(cls, values: Sequence[Row], length: int) -> Self:
        """Merge single fees: each a time, a fee, and whether it is estimated."""
        columns: list[Any] = list(zip(*values, strict=True)) or [()] * 3
        at, fees, _ = columns
        at = integers(at)
        return cls._merged(at, np.fromiter(fees, float), np.ones_like(at), length)

    @classmethod
    def _merged(cls, first_at: Integers, totals: Floats, seen: Integers, length: int) -> Self:
        if not len(first_at):
            return cls(first_at, totals, seen)
        steps = first_at // length
        starts = np.flatnonzero(np.diff(steps, prepend=steps[0] - 1))
        values = np.add.reduceat(seen, starts)
        return cls(first_at[starts], np.add.reduceat(totals, starts) / values, values)

    def __len__(self) -> int:
        return len(self.first_at)


@dataclass(frozen=True, slots=True, eq=False)
class FeePercentiles:
    """Percentiles or thresholds as they were asked for, oldest first."""

    asked_at: Integers
    fees: Integers

    @classmethod
    def of(cls, percentiles: Iterable[Row]) -> Self:
        """Take rows that begin with a time and a fee."""
        columns: list[Any] = list(zip(*percentiles, strict=False)) or [(), ()]
        return cls(integers(columns[0]), integers(columns[1]))

    def at(self, moments: Integers) -> Integers | None:
        """Return the one that held at each moment, None if none was ever seen.

        The first also holds before itself: a percentile is asked for a moment after the fee that it
        belongs to, and far more seldom.
        """
        if not len(self.fees):
            return None
        places = np.searchsorted(self.asked_at, moments, side="right") - 1
        held: Integers = self.fees[np.maximum(places, 0)]
        return held


def _sums_of(totals: Iterable[bytes]) -> Floats:
    return np.fromiter(map(int.from_bytes, totals), float)


def integers(values: Iterable[int]) -> Integers:
    """Make a column of numbers of 64 bits."""
    return np.fromiter(values, np.int64)


def with_pauses(gaps: Integers, first_at: Integers, last_at: Integers) -> Integers:
    """Return the longest gaps within roll-ups, or before them where that pause was longer."""
    pauses = np.append(0, first_at[1:] - last_at[:-1])[: len(gaps)]
    longest: Integers = np.maximum(gaps, pauses)
    return longest


def merge_steps(parts: Sequence[Row], length: int) -> FeeSteps:
    """Put together what lies in one step of so many milliseconds.

    Parts are roll-ups as `part_of` lays them out, in order of time, and none reaches over the end
    of a step. It is as if the values of each step had been rolled up at once.
    """
    if not parts:
        return FeeSteps.of(())
    first, last, low, high, totals, seen, estimated, gaps, histograms = zip(*parts, strict=True)
    first_at, last_at = integers(first), integers(last)
    steps = first_at // length
    starts = np.flatnonzero(np.diff(steps, prepend=steps[0] - 1))
    ends = np.append(starts[1:], len(parts))
    lowest = np.minimum.reduceat(integers(low), starts)
    highest = np.maximum.reduceat(integers(high), starts)
    step_of = np.repeat(np.arange(len(starts)), ends - starts)
    counted = Histograms.decode(histograms).regrouped(step_of).merged()
    medians, p90s = (
        np.clip(counted.quantile(each, len(starts)), lowest, highest) for each in (50, 90)
    )
    values = np.add.reduceat(integers(seen), starts)
    sums = list(map(int.from_bytes, totals))
    of_steps = (sum(sums[start:end]) for start, end in pairwise([*starts.tolist(), len(parts)]))
    return FeeSteps(
        first_at=first_at[starts],
        last_at=last_at[ends - 1],
        lowest=lowest,
        highest=highest,
        means=np.fromiter(map(truediv, of_steps, values.tolist()), float),
        values=values,
        estimated=np.add.reduceat(integers(estimated), starts),
        medians=medians,
        p90s=p90s,
        longest_gaps=np.maximum.reduceat(with_pauses(integers(gaps), first_at, last_at), starts),
    )
