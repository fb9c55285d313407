"""Series of fees for charts: any stretch of time, read in a bounded number of rows.

Steps of less than a minute are made of single values, longer ones of roll-ups of minutes, hours
or days; a stretch that has too many of them gets longer steps than were asked for. Where
the stretch begins or ends within a roll-up, what lies inside is read from finer ones, as far as
these are kept. The newest roll-ups are never behind: they are saved together with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from sqlalchemy import Connection

from dashboard.domain.fees.rollup import FeeSeries, RollupLevel, TimedFee
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row
from dashboard.store.fees.histograms import Flags
from dashboard.store.fees.rollup_arrays import RollupArrays, joined
from dashboard.store.fees.rollups import (
    first_at,
    first_begin,
    last_before,
    last_fee_of,
    last_fees_between,
    part_of,
    parts_between,
    read_rollups,
    summaries_between,
    summary_of,
    total_of,
    totals_between,
)
from dashboard.store.fees.steps import FeeMeans, FeePercentiles, FeeSteps, merge_steps
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
_FINER: Final = {RollupLevel.HOUR: RollupLevel.MINUTE, RollupLevel.DAY: RollupLevel.HOUR}


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
    key, window, length = SeriesKey(network_id, series), between.window, between.length
    level = _level_or_values(connection, key, between)
    if not isinstance(level, RollupLevel):
        steps = RollupArrays.of_fees(level).rolled_up(length)
        return FeeSteps.of(map(summary_of, steps.rows(*key, RollupLevel.MINUTE)))
    length = whole_steps(level, length)
    opened = partial(_part_within, connection, key, level, window)
    if level.length == length:
        found = summaries_between(
            connection, key, level, level.begin_of(window.since), window.until
        )
        return FeeSteps.of(_rows_within(found, window, summary_of, opened))
    found = parts_between(connection, key, level, level.begin_of(window.since), window.until)
    return merge_steps(_rows_within(found, window, part_of, opened), length)


def fee_means(
    connection: Connection, network_id: NetworkId, series: FeeSeries, between: ChartRange
) -> FeeMeans:
    """Return the means of the same steps, without what a chart of one network shows besides."""
    key, window, length = SeriesKey(network_id, series), between.window, between.length
    level = _level_or_values(connection, key, between)
    if not isinstance(level, RollupLevel):
        return FeeMeans.of_values(level, length)
    opened = partial(_part_within, connection, key, level, window)
    found = totals_between(connection, key, level, level.begin_of(window.since), window.until)
    rows = _rows_within(found, window, total_of, opened)
    return FeeMeans.of(rows, whole_steps(level, length))


def percentile_steps(
    connection: Connection, network_id: NetworkId, operation: Operation, between: ChartRange
) -> FeePercentiles:
    """Return the last percentile or threshold of each step, oldest first.

    The first one may be older than the time asked for: it still held when that began.
    """
    key = SeriesKey(network_id, PERCENTILES[operation])
    window, length = between.window, between.length
    found = _level_or_values(connection, key, between)
    fees: Sequence[Row]
    if isinstance(found, RollupLevel):
        length = whole_steps(found, length)
        fees = _last_fees(connection, key, found, window)
    else:
        fees = found
    last_of_each = {fee[0] // length: fee for fee in fees}
    before = _last_before(connection, key, window.since)
    return FeePercentiles.of([*([] if before is None else [before]), *last_of_each.values()])


def first_seen_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return the time of the oldest base fee of a network of which anything is kept."""
    found = first_at(connection, SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE))
    return None if found is None else moment_of(found)


def _level_or_values(
    connection: Connection, key: SeriesKey, between: ChartRange
) -> RollupLevel | list[TimedFee]:
    """Return the level that makes up steps, or the single values that do."""
    level = level_for(connection, key, between.window, between.length)
    if level is not None:
        return level
    values = fee_values(connection, key, *between.window, limit=MOST_ROWS + 1)
    if len(values) > MOST_ROWS:  # they come more often than once a second
        return coarsen(between.window, RollupLevel.MINUTE)
    return values


def _last_before(connection: Connection, key: SeriesKey, at: int) -> TimedFee | None:
    found = (last_before(connection, key, at), last_percentile_before(connection, key, at))
    return max((each for each in found if each is not None), default=None)


def _rows_within(
    rows: Sequence[Row],
    window: SeriesWindow,
    laid_out: Callable[[Row], Row],
    opened: Callable[[int], Row | None],
) -> list[Row]:
    """Return the roll-ups of a stretch; the first and the last are opened if its ends cut them."""
    within = list(rows)
    for place in sorted({0, len(within) - 1}, reverse=True) if within else ():
        first_at, last_at = within[place][:2]
        if first_at < window.since or last_at >= window.until:
            inside = opened(first_at)
            within[place : place + 1] = [] if inside is None else [laid_out(inside)]
    return within


def _last_fees(
    connection: Connection, key: SeriesKey, level: RollupLevel, window: SeriesWindow
) -> list[Row]:
    """Return the last value in each roll-up of a stretch; only one that its end cuts is opened."""
    found = last_fees_between(connection, key, level, level.begin_of(window.since), window.until)
    lasts = [fee for fee in found if fee[0] >= window.since]
    if lasts and lasts[-1][0] >= window.until:
        inside = _part_within(connection, key, level, window, lasts.pop()[0])
        if inside is not None:
            lasts.append(last_fee_of(inside))
    return lasts


def _part_within(
    connection: Connection, key: SeriesKey, level: RollupLevel, window: SeriesWindow, at: int
) -> Row | None:
    """Open the roll-up of a time, and return what of it was seen in a stretch, None for nothing."""
    begins_at = level.begin_of(at)
    whole = read_rollups(connection, key, level, begins_at, begins_at + 1)
    rows = clip(connection, key, level, whole, window).rows(*key, level)
    return rows[0] if rows else None


class SeriesWindow(NamedTuple):
    """A stretch of time in milliseconds: from `since` to before `until`."""

    since: int
    until: int

    def covers(self, rollups: RollupArrays) -> Flags:
        """Return of which all that was rolled up was seen in it."""
        return (self.since <= rollups.first) & (rollups.last < self.until)

    def overlaps(self, rollups: RollupArrays) -> Flags:
        """Return of which some of what was rolled up may have been seen in it."""
        return (self.since <= rollups.last) & (rollups.first < self.until)


def level_for(
    connection: Connection, key: SeriesKey, window: SeriesWindow, step: int
) -> RollupLevel | None:
    """Return the level that makes up steps with few rows, None where single values do.

    It is longer than the step where the stretch has too many of what would fit, or where the
    stretch begins before the time from which on these are kept.
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
        minutes_since = first_begin(connection, key, RollupLevel.MINUTE)
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


def clip(
    connection: Connection,
    key: SeriesKey,
    level: RollupLevel,
    whole: RollupArrays,
    window: SeriesWindow,
) -> RollupArrays:
    """Return what of one roll-up was seen in a stretch, which may be nothing.

    It is read from finer ones and, in the end, from single values. Where these are kept no longer,
    the roll-up stays as it is.
    """
    is_cut = window.overlaps(whole) & ~window.covers(whole)
    if not is_cut.any():
        return whole.chosen(window.covers(whole))
    since = int(whole.begins[0])
    until = since + level.length
    if level is RollupLevel.MINUTE:
        parts = RollupArrays.of_fees(fee_values(connection, key, since, until))
    else:
        parts = read_rollups(connection, key, _FINER[level], since, until)
    if parts.seen.sum() != whole.seen[0]:
        return whole
    inside = [parts.chosen(window.covers(parts))]
    for begins in parts.begins[window.overlaps(parts) & ~window.covers(parts)]:
        cut = parts.chosen(parts.begins == begins)
        inside.append(clip(connection, key, _FINER[level], cut, window))
    return joined(level, *inside).rolled_up(level.length)
