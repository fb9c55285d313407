"""Series of fees for charts: any stretch of time, read in a bounded number of rows.

Steps of less than a minute are made of single values, longer ones of roll-ups of minutes, hours
or days; a stretch that has too many of them is told in longer steps than were asked for. Where
the stretch begins or ends within a roll-up, what lies inside is told by finer ones, as far as
these are kept. The newest roll-ups are never behind: they are saved together with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeRollup, FeeSeries, Level, SeenFee
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row
from dashboard.store.fees.ingest import MARKS
from dashboard.store.fees.resolution import (
    MOST_ROWS,
    Reach,
    coarsen,
    cut,
    level_for,
    whole_steps,
)
from dashboard.store.fees.rollup_rows import (
    first_at,
    last_before,
    lasts_between,
    part_of,
    parts_between,
    rollups_between,
    summaries_between,
    summary_of,
)
from dashboard.store.fees.series_columns import FeeMarks, FeeSteps
from dashboard.store.fees.step_merging import merge_steps
from dashboard.store.fees.values import SeriesOf, fee_values, last_mark_before
from dashboard.store.schema.columns import milliseconds_of, moment_of


class FeeKind(StrEnum):
    """Which fee a series tells, or whether it was busy (1 or 0), by the name of its column."""

    BASE_FEE = "estimated_base_fee"
    MEDIUM_PRIORITY_FEE = "medium_max_priority_fee"
    IS_BUSY = "is_busy"


class Between(NamedTuple):
    """The time that a series covers, both ends included, and the length of its steps."""

    since: datetime
    until: datetime
    step: timedelta

    @property
    def reach(self) -> Reach:
        """The same in milliseconds."""
        return Reach(milliseconds_of(self.since), milliseconds_of(self.until) + 1)

    @property
    def length(self) -> int:
        """Milliseconds of a step."""
        return max(1, self.step // timedelta(milliseconds=1))


_SERIES: Final = {
    FeeKind.BASE_FEE: FeeSeries.ESTIMATED_BASE_FEE,
    FeeKind.MEDIUM_PRIORITY_FEE: FeeSeries.MEDIUM_MAX_PRIORITY_FEE,
    FeeKind.IS_BUSY: FeeSeries.IS_BUSY,
}


def fee_steps(
    connection: Connection, network_id: NetworkId, kind: FeeKind, between: Between
) -> FeeSteps:
    """Return what was seen of a fee, oldest first; steps in which nothing was seen are left out."""
    of, reach, length = SeriesOf(network_id, _SERIES[kind]), between.reach, between.length
    level = level_for(connection, of, reach, length)
    if level is None:
        values = fee_values(connection, of, *reach, limit=MOST_ROWS + 1)
        if len(values) <= MOST_ROWS:  # else they come more often than once a second
            steps = groupby(values, lambda value: value.at // length)
            return FeeSteps.of(summary_of(FeeRollup.of_all(some)) for _, some in steps)
        level = coarsen(reach, Level.MINUTE)
    length = whole_steps(level, length)
    opened = partial(_inside, connection, of, level, reach)
    if level.length == length:
        found = summaries_between(connection, of, level, level.begin_of(reach.since), reach.until)
        return FeeSteps.of(_within(found, reach, summary_of, opened))
    found = parts_between(connection, of, level, level.begin_of(reach.since), reach.until)
    return merge_steps(list(_within(found, reach, part_of, opened)), length)


def fee_mark_steps(
    connection: Connection, network_id: NetworkId, operation: Operation, between: Between
) -> FeeMarks:
    """Return the last percentile or threshold of each step, oldest first.

    The first one may be older than the time asked for: it still held when that began.
    """
    of, reach, length = SeriesOf(network_id, MARKS[operation]), between.reach, between.length
    level = level_for(connection, of, reach, length)
    marks: Sequence[Row] = ()
    if level is None:
        marks = fee_values(connection, of, *reach, limit=MOST_ROWS + 1)
        if len(marks) > MOST_ROWS:
            level = coarsen(reach, Level.MINUTE)
    if level is not None:
        length = whole_steps(level, length)
        marks = _lasts_in(connection, of, level, reach)
    last_of_each = {mark[0] // length: mark for mark in marks}
    before = _last_before(connection, of, reach.since)
    return FeeMarks.of([*([] if before is None else [before]), *last_of_each.values()])


def first_seen_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return the time of the oldest base fee of a network of which anything is kept."""
    found = first_at(connection, SeriesOf(network_id, FeeSeries.ESTIMATED_BASE_FEE))
    return None if found is None else moment_of(found)


def _last_before(connection: Connection, of: SeriesOf, at: int) -> SeenFee | None:
    found = (last_before(connection, of, at), last_mark_before(connection, of, at))
    return max((each for each in found if each is not None), default=None)


def _within(
    rows: Iterable[Row],
    reach: Reach,
    laid_out: Callable[[FeeRollup], Row],
    opened: Callable[[int], FeeRollup | None],
) -> Iterator[Row]:
    """Yield what roll-ups tell of a stretch; only those that its ends cut are opened."""
    for row in rows:
        if reach.since <= row[0] and row[1] < reach.until:
            yield row
        elif (inside := opened(row[0])) is not None:
            yield laid_out(inside)


def _lasts_in(connection: Connection, of: SeriesOf, level: Level, reach: Reach) -> list[Row]:
    """Return the last value in each roll-up of a stretch; only one that its end cuts is opened."""
    found = lasts_between(connection, of, level, level.begin_of(reach.since), reach.until)
    lasts = [mark for mark in found if mark[0] >= reach.since]
    if lasts and lasts[-1][0] >= reach.until:
        inside = _inside(connection, of, level, reach, lasts.pop()[0])
        if inside is not None:
            lasts.append((inside.last_at, inside.last))
    return lasts


def _inside(
    connection: Connection, of: SeriesOf, level: Level, reach: Reach, at: int
) -> FeeRollup | None:
    """Open the roll-up of a time, and return what of it was seen in a stretch, None for nothing."""
    begins_at = level.begin_of(at)
    [whole] = rollups_between(connection, of, level, begins_at, begins_at + 1).values()
    return cut(connection, of, level, (begins_at, whole), reach)
