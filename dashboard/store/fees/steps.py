"""Steps of a fee in columns: an array each, since a chart draws hundreds of steps at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.quantity import Wei
from dashboard.store.engine.driver import Row
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.rollup_arrays import RollupArrays
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
    def of(cls, steps: RollupArrays) -> Self:
        """Take a roll-up of each step, oldest first."""
        pauses = np.append(0, steps.first[1:] - steps.last[:-1])[: len(steps)]
        return cls(
            steps.first,
            steps.last,
            steps.lowest,
            steps.highest,
            _means_of(steps),
            steps.seen,
            steps.estimated,
            steps.median,
            steps.p90,
            np.maximum(steps.gap, pauses),
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
    def of(cls, steps: RollupArrays) -> Self:
        """Take a roll-up of each step, oldest first."""
        return cls(steps.first, _means_of(steps), steps.seen)

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


def _means_of(steps: RollupArrays) -> Floats:
    """Divide exact sums, which may need more than 64 bits."""
    means: Floats = (steps.totals / steps.seen.astype(object)).astype(float)
    return means


def integers(values: Iterable[int]) -> Integers:
    """Make a column of numbers of 64 bits."""
    return np.fromiter(values, np.int64)
