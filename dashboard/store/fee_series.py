"""Series of fees for charts: any stretch of time, read in a bounded number of rows.

Steps of less than a minute are made of single values, longer ones of roll-ups of minutes, hours
or days; a stretch that has too many of them is told in longer steps than were asked for. Where
the stretch begins or ends within a roll-up, what lies inside is told by finer ones, as far as
these are kept. The newest roll-ups are never behind: they are saved together with the values.

Measured on SQLite on a busy machine: a year of days takes 2 to 4 ms of CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple

from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeRollup, FeeSeries, Level, SeenFee
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.fee_keeping import MARKS
from dashboard.store.fee_levels import (
    MOST_ROWS,
    Reach,
    coarsen,
    cut,
    level_for,
    rollups_in,
    whole_steps,
)
from dashboard.store.fee_rollup_rows import (
    Summary,
    first_at,
    last_before,
    rollups_between,
    summaries_between,
    summary_of,
)
from dashboard.store.fee_values import SeriesOf, fee_values, last_mark_before
from dashboard.store.observations import Dated


class FeeKind(StrEnum):
    """Which fee a series tells, by the name of its column."""

    BASE_FEE = "estimated_base_fee"
    MEDIUM_PRIORITY_FEE = "medium_max_priority_fee"


class FeeStep(NamedTuple):
    """What was seen of a fee during one step: so many `values`, and when the first and the last.

    `mean` is for drawing only. `estimated` of the values have a time that is only probable.
    `median` and `p90` (the 90th percentile) are at most 1/64 off. `longest_gap` is the longest
    silence that ended in this step, as far as it began in the time that was asked for.
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
}


def fee_steps(
    connection: Connection, network_id: NetworkId, kind: FeeKind, between: Between
) -> list[FeeStep]:
    """Return what was seen of a fee, oldest first; steps in which nothing was seen are left out."""
    of, reach, length = SeriesOf(network_id, _SERIES[kind]), between.reach, between.length
    level = level_for(connection, of, reach, length)
    if level is None:
        values = fee_values(connection, of, *reach, limit=MOST_ROWS + 1)
        if len(values) <= MOST_ROWS:  # else they come more often than once a second
            steps = groupby(values, lambda value: value.at // length)
            return _told(summary_of(FeeRollup.of_all(some)) for _, some in steps)
        level = coarsen(reach, Level.MINUTE)
    length = whole_steps(level, length)
    if level.length == length:
        return _told(_summaries_in(connection, of, level, reach))
    parts = groupby(rollups_in(connection, of, level, reach), lambda part: part[0] // length)
    return _told(summary_of(FeeRollup.of_parts(each for _, each in some)) for _, some in parts)


def fee_mark_steps(
    connection: Connection, network_id: NetworkId, operation: Operation, between: Between
) -> list[Dated[Wei]]:
    """Return the last percentile or threshold of each step, oldest first.

    The first one may be older than the time asked for: it still held when that began.
    """
    of, reach, length = SeriesOf(network_id, MARKS[operation]), between.reach, between.length
    level = level_for(connection, of, reach, length)
    marks: Sequence[SeenFee] = ()
    if level is None:
        marks = fee_values(connection, of, *reach, limit=MOST_ROWS + 1)
        if len(marks) > MOST_ROWS:
            level = coarsen(reach, Level.MINUTE)
    if level is not None:
        length = whole_steps(level, length)
        marks = [
            SeenFee(each.last_at, each.last) for each in _summaries_in(connection, of, level, reach)
        ]
    last_of_each = {mark.at // length: mark for mark in marks}
    before = _last_before(connection, of, reach.since)
    told = [*([] if before is None else [before]), *last_of_each.values()]
    return [Dated(mark.fee, moment_of(mark.at)) for mark in told]


def first_seen_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return the time of the oldest base fee of a network of which anything is kept."""
    found = first_at(connection, SeriesOf(network_id, FeeSeries.ESTIMATED_BASE_FEE))
    return None if found is None else moment_of(found)


def _last_before(connection: Connection, of: SeriesOf, at: int) -> SeenFee | None:
    found = (last_before(connection, of, at), last_mark_before(connection, of, at))
    return max((each for each in found if each is not None), default=None)


def _summaries_in(
    connection: Connection, of: SeriesOf, level: Level, reach: Reach
) -> Iterator[Summary]:
    """Yield the roll-ups of a stretch; only those that its ends cut are opened."""
    since = level.begin_of(reach.since)
    for begins_at, summary in summaries_between(connection, of, level, since, reach.until):
        if reach.since <= summary[0] and summary[1] < reach.until:
            yield summary
            continue
        [whole] = rollups_between(connection, of, level, begins_at, begins_at + 1).values()
        inside = cut(connection, of, level, (begins_at, whole), reach)
        if inside is not None:
            yield summary_of(inside)


def _told(summaries: Iterable[Summary]) -> list[FeeStep]:
    steps: list[FeeStep] = []
    last: int | None = None
    for first, last_at, lowest, highest, total, seen, estimated, median, p90, gap, _ in summaries:
        silence = gap if last is None else max(gap, first - last)
        last = last_at
        steps.append(
            FeeStep(
                moment_of(first),
                moment_of(last_at),
                lowest,
                highest,
                total / seen,
                seen,
                estimated,
                median,
                p90,
                timedelta(milliseconds=silence),
            )
        )
    return steps
