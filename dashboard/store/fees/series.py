"""Series of fees for charts: any stretch of time, read in a bounded number of rows.

Steps of less than a minute are made of single values, longer ones of roll-ups of minutes, hours
or days; a stretch that has too many of them gets longer steps than were asked for. Where
the stretch begins or ends within a roll-up, what lies inside is read from finer ones, as far as
these are kept. The newest roll-ups are never behind: they are saved together with the values.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection

from dashboard.domain.fees.fee_series import FeeSeries, RollupLevel, TimedFee
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.fees.histograms import Flags
from dashboard.store.fees.rollup_arrays import RollupArrays, joined
from dashboard.store.fees.rollups import first_at, first_begin_after, last_before, read_rollups
from dashboard.store.fees.steps import FeeMeans, FeePercentiles, FeeSteps
from dashboard.store.fees.stored_fees import (
    PERCENTILES,
    SeriesKey,
    fee_values,
    first_value_at,
    last_percentile_before,
)
from dashboard.store.schema.columns import milliseconds_of, moment_of

MOST_ROWS: Final = 4400
"""Rows read for a series: three days of minutes, half a year of hours, or twelve years of days."""


class ChartRange(NamedTuple):
    """The time that a series covers, both ends included, and the length of its steps."""

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
    """Return what was seen of a fee, oldest first; steps in which nothing was seen are left out."""
    return FeeSteps.of(_steps(connection, SeriesKey(network_id, series), between))


def fee_means(
    connection: Connection, network_id: NetworkId, series: FeeSeries, between: ChartRange
) -> FeeMeans:
    """Return only the means of the same steps: a chart of several networks needs no more."""
    key = SeriesKey(network_id, series)
    return FeeMeans.of(_steps(connection, key, between, with_percentiles=False))


def percentile_steps(
    connection: Connection, network_id: NetworkId, operation: Operation, between: ChartRange
) -> FeePercentiles:
    """Return the last percentile or threshold of each step, oldest first.

    The first one may be older than the time asked for: it still held when that began.
    """
    key = SeriesKey(network_id, PERCENTILES[operation])
    steps = _steps(connection, key, between, with_percentiles=False)
    before = _last_before(connection, key, between.window.since)
    lasts = zip(steps.last.tolist(), steps.last_fee.tolist(), strict=True)
    return FeePercentiles.of([*([] if before is None else [before]), *lasts])


def first_seen_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return the time of the oldest base fee of a network of which anything is kept."""
    found = first_at(connection, SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE))
    return None if found is None else moment_of(found)


def _steps(
    connection: Connection,
    key: SeriesKey,
    between: ChartRange,
    *,
    with_percentiles: bool = True,
) -> RollupArrays:
    """Return a roll-up of each step; its percentiles are right only if they are wanted."""
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
    """A stretch of time in milliseconds: from `since` to before `until`."""

    since: int
    until: int

    def covers(self, rollups: RollupArrays) -> Flags:
        """Whether each roll-up lies wholly in the window."""
        return (self.since <= rollups.first) & (rollups.last < self.until)

    def overlaps(self, rollups: RollupArrays) -> Flags:
        """Whether each roll-up may overlap the window."""
        return (self.since <= rollups.last) & (rollups.first < self.until)


def level_for(
    connection: Connection, key: SeriesKey, window: SeriesWindow, step: int
) -> RollupLevel | None:
    """Return the level that makes up steps with few rows; None if single values do.

    The level is longer than the step if the window would need too many rows, or begins before
    finer data is kept.
    """
    level = fitting_level(window, step)
    if level in {RollupLevel.HOUR, RollupLevel.DAY}:
        return level
    since = max(window.since, first_at(connection, key) or 0)
    if level is None:
        kept_since = first_value_at(connection, key)
        if kept_since is not None and kept_since <= since:
            return None
        level = coarsen(window, RollupLevel.MINUTE)
    if level is RollupLevel.MINUTE:
        minutes_since = first_begin_after(connection, key, RollupLevel.MINUTE)
        if minutes_since is None or RollupLevel.MINUTE.begin_of(since) < minutes_since:
            return coarsen(window, RollupLevel.HOUR)
    return level


def fitting_level(window: SeriesWindow, step: int) -> RollupLevel | None:
    """Return the level that makes up steps with few rows, None for a step below a minute."""
    fitting = [level for level in RollupLevel if step % level.length == 0]
    if not fitting and step < RollupLevel.MINUTE.length:
        return None
    return coarsen(window, fitting[-1] if fitting else RollupLevel.MINUTE)


def whole_steps(level: RollupLevel, step: int) -> int:
    """Return the length of a step that whole roll-ups make up: the one given, or the next."""
    return -(-step // level.length) * level.length


def coarsen(window: SeriesWindow, level: RollupLevel) -> RollupLevel:
    """Return the level, or the next longer one of which the stretch has few enough."""
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
    """Return what of some roll-ups was seen in a stretch; those that its ends cut are opened."""
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
    """Return what of one roll-up was seen in a stretch.

    It is read from finer ones and, in the end, from single values. Where these are kept no longer,
    the roll-up stays as it is.
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
