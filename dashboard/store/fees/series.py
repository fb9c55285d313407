"""Series of fees for charts: steps of any period, read in a bounded number of rows.

Steps of less than a minute are made of single values, longer ones of roll-ups of minutes, hours or
days; if a period has too many of them, its steps become longer than what was asked for. If the
period begins or ends within a roll-up, the part inside is read from finer ones, as far as these are
kept. The newest roll-ups are never behind: they are saved together with the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from dashboard.domain.fees.gas import FeeSeries, RollupLevel, TimedFee
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.engine.driver import Row
from dashboard.store.fees.histograms import Flags, Integers
from dashboard.store.fees.rollup_arrays import RollupArrays, Totals, joined
from dashboard.store.fees.rollups import (
    first_at,
    first_begin_after,
    last_before,
    read_rollups,
    totals_between,
)
from dashboard.store.fees.stored_fees import (
    PERCENTILES,
    SeriesKey,
    fee_values,
    first_value_at,
    last_percentile_before,
)
from dashboard.store.schema.columns import milliseconds_of, moment_of

Floats: TypeAlias = npt.NDArray[np.float64]


class FeeStep(NamedTuple):
    """What was seen of a fee during one step: how many `values`, the first time and the last.

    `mean` is for drawing only. `estimated` of the values have a time that is only probable.
    `median` and `p90` (the 90th percentile) are within 1/64 of the exact ones. `longest_gap` is the
    longest pause that ended in this step, as far as it began in the period asked for.
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
            _means_of(steps.totals, steps.seen),
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
    """Means of a fee by steps, oldest first, each with its first and last time and `values`."""

    first_at: Integers
    last_at: Integers
    means: Floats
    values: Integers

    @classmethod
    def of(cls, steps: RollupArrays) -> Self:
        """Take a roll-up of each step, oldest first."""
        return cls(steps.first, steps.last, _means_of(steps.totals, steps.seen), steps.seen)

    @classmethod
    def of_totals(cls, rows: Sequence[Row], length: int) -> Self:
        """Add rows of `totals_between` up to steps of so many milliseconds."""
        columns: list[Any] = list(zip(*rows, strict=True)) or [()] * 4
        first, last, seen = (integers(columns[each]) for each in (0, 1, 3))
        totals = np.fromiter(map(int.from_bytes, columns[2]), np.float64)
        starts = np.flatnonzero(np.diff(first // length, prepend=-1))
        if not len(starts):
            return cls(first, last, totals, seen)
        seen = np.add.reduceat(seen, starts)
        means = np.add.reduceat(totals, starts) / seen
        return cls(first[starts], last[np.append(starts[1:], len(last)) - 1], means, seen)

    def __len__(self) -> int:
        return len(self.first_at)


@dataclass(frozen=True, slots=True, eq=False)
class FeePercentiles:
    """Percentiles or thresholds as answered, oldest first."""

    asked_at: Integers
    fees: Integers

    @classmethod
    def of(cls, percentiles: Iterable[Row]) -> Self:
        """Take rows that begin with a time and a fee."""
        columns: list[Any] = list(zip(*percentiles, strict=False)) or [(), ()]
        return cls(integers(columns[0]), integers(columns[1]))

    def at(self, moments: Integers) -> Integers | None:
        """Return the percentile that applied at each moment, None if none was ever seen.

        The first one also applies before itself: a percentile is asked for a moment after the fee
        that it belongs to, and far less often.
        """
        if not len(self.fees):
            return None
        places = np.searchsorted(self.asked_at, moments, side="right") - 1
        held: Integers = self.fees[np.maximum(places, 0)]
        return held


def _means_of(totals: Totals, seen: Integers) -> Floats:
    """Divide exact sums, which may need more than 64 bits."""
    means: Floats = (totals / seen.astype(object)).astype(float)
    return means


def integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)


MOST_ROWS: Final = 4400
"""Rows read for a series: three days of minutes, half a year of hours, or twelve years of days."""


class ChartRange(NamedTuple):
    """The period that a series covers, both ends inclusive, and the length of its steps."""

    since: datetime
    until: datetime
    step: timedelta

    @property
    def window(self) -> SeriesWindow:
        """The same in milliseconds."""
        return SeriesWindow(milliseconds_of(self.since), milliseconds_of(self.until) + 1)

    @property
    def length(self) -> int:
        """Milliseconds of a step."""
        return max(1, self.step // timedelta(milliseconds=1))


def fee_steps(
    connection: Connection, network_id: NetworkId, series: FeeSeries, between: ChartRange
) -> FeeSteps:
    """Return what was seen of a fee, oldest first; steps without values are left out."""
    return FeeSteps.of(_steps(connection, SeriesKey(network_id, series), between))


def fee_means(
    connection: Connection, network_id: NetworkId, series: FeeSeries, between: ChartRange
) -> FeeMeans:
    """Return only the means of the same steps: a chart of several networks needs no more."""
    key, window = SeriesKey(network_id, series), between.window
    level = level_for(connection, key, window, between.length)
    if level is not None:
        since = level.begin_of(window.since)
        rows = totals_between(connection, key, level, since, window.until)
        if all(window.since <= row[0] and row[1] < window.until for row in (*rows[:1], *rows[-1:])):
            return FeeMeans.of_totals(rows, whole_steps(level, between.length))
    return FeeMeans.of(_steps(connection, key, between, with_percentiles=False))


def percentile_steps(
    connection: Connection, network_id: NetworkId, operation: Operation, between: ChartRange
) -> FeePercentiles:
    """Return the last percentile or threshold of each step, oldest first.

    The first one may be older than the period: it still applied when the period began.
    """
    key = SeriesKey(network_id, PERCENTILES[operation])
    steps = _steps(connection, key, between, with_percentiles=False)
    before = _last_before(connection, key, between.window.since)
    lasts = zip(steps.last.tolist(), steps.last_fee.tolist(), strict=True)
    return FeePercentiles.of([*([] if before is None else [before]), *lasts])


def first_seen_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return the time of the oldest base fee of a network in what is kept."""
    found = first_at(connection, SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE))
    return None if found is None else moment_of(found)


def _steps(
    connection: Connection, key: SeriesKey, between: ChartRange, *, with_percentiles: bool = True
) -> RollupArrays:
    """Return a roll-up of each step; its percentiles are only right if they are asked for."""
    window, length = between.window, between.length
    level = level_for(connection, key, window, length)
    if level is None:
        values = fee_values(connection, key, *window, limit=MOST_ROWS + 1)
        if len(values) <= MOST_ROWS:
            return RollupArrays.of_fees(values).rolled_up(length)
        level = coarsen(window, RollupLevel.MINUTE)  # they come more often than once a second
    length = whole_steps(level, length)
    found = read_rollups(
        connection,
        key,
        level,
        level.begin_of(window.since),
        window.until,
        with_histograms=with_percentiles and level.length != length,
    )
    found = _within(connection, key, level, found, window)
    return found if level.length == length else found.rolled_up(length)


def _last_before(connection: Connection, key: SeriesKey, at: int) -> TimedFee | None:
    found = (last_before(connection, key, at), last_percentile_before(connection, key, at))
    return max((each for each in found if each is not None), default=None)


class SeriesWindow(NamedTuple):
    """A period in milliseconds: from `since` to before `until`."""

    since: int
    until: int

    def covers(self, rollups: RollupArrays) -> Flags:
        """Whether each roll-up lies entirely in the window."""
        return (self.since <= rollups.first) & (rollups.last < self.until)

    def overlaps(self, rollups: RollupArrays) -> Flags:
        """Whether each roll-up may overlap the window."""
        return (self.since <= rollups.last) & (rollups.first < self.until)


def level_for(
    connection: Connection, key: SeriesKey, window: SeriesWindow, step: int
) -> RollupLevel | None:
    """Return the level whose roll-ups make up steps in few rows; None if single values do.

    The level is longer than the step if the window would need too many rows, or begins before finer
    data is kept.
    """
    level = fitting_level(window, step)
    if level is None:
        if _is_kept(connection, key, first_value_at(connection, key), window):
            return None
        level = coarsen(window, RollupLevel.MINUTE)
    if level is RollupLevel.MINUTE:
        minutes_since = first_begin_after(connection, key, RollupLevel.MINUTE)
        if not _is_kept(connection, key, minutes_since, window):
            return coarsen(window, RollupLevel.HOUR)
    return level


def _is_kept(
    connection: Connection, key: SeriesKey, kept_since: int | None, window: SeriesWindow
) -> bool:
    """Whether data since a time holds all of the window that was ever seen."""
    if kept_since is None or kept_since <= window.since:
        return kept_since is not None
    return kept_since <= (first_at(connection, key) or 0)


def fitting_level(window: SeriesWindow, step: int) -> RollupLevel | None:
    """Return the level whose roll-ups make up a step; None for a step below a minute."""
    fitting = [level for level in RollupLevel if step % level.length == 0]
    if not fitting and step < RollupLevel.MINUTE.length:
        return None
    return coarsen(window, fitting[-1] if fitting else RollupLevel.MINUTE)


def whole_steps(level: RollupLevel, step: int) -> int:
    """Return the length of a step made of whole roll-ups: the given one, or the next longer."""
    return -(-step // level.length) * level.length


def coarsen(window: SeriesWindow, level: RollupLevel) -> RollupLevel:
    """Return the level, or the next longer one with few enough roll-ups in the period."""
    stretch = window.until - window.since
    few = (each for each in RollupLevel if each >= level and stretch <= MOST_ROWS * each.length)
    return next(few, RollupLevel.DAY)


def _within(
    connection: Connection,
    key: SeriesKey,
    level: RollupLevel,
    rollups: RollupArrays,
    window: SeriesWindow,
) -> RollupArrays:
    """Return what some roll-ups saw in a period; those that its ends cut are opened."""
    is_whole = window.covers(rollups)
    if is_whole.all():
        return rollups
    inside = [rollups.chosen(is_whole)]
    for begins in rollups.begins[window.overlaps(rollups) & ~is_whole].tolist():
        cut = read_rollups(connection, key, level, begins, begins + 1)
        inside.append(_opened(connection, key, level, cut, window))
    return joined(level, *inside)


def _opened(
    connection: Connection,
    key: SeriesKey,
    level: RollupLevel,
    cut: RollupArrays,
    window: SeriesWindow,
) -> RollupArrays:
    """Return what one roll-up saw in a period.

    It is read from finer roll-ups and, in the end, from single values. If these are no longer kept,
    the roll-up is used whole.
    """
    since = int(cut.begins[0])
    until = since + level.length
    finer = level
    if level is RollupLevel.MINUTE:
        parts = RollupArrays.of_fees(fee_values(connection, key, since, until))
    else:
        finer = RollupLevel(level - 1)
        parts = read_rollups(connection, key, finer, since, until)
    if parts.seen.sum() != cut.seen[0]:
        return cut
    return _within(connection, key, finer, parts, window).rolled_up(level.length)
