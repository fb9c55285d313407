"""Which roll-ups tell a stretch of time in few rows, and what of those that its ends cut."""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeRollup, Level
from dashboard.store.fees.rollup_rows import first_at, first_begin, rollups_between
from dashboard.store.fees.values import SeriesOf, fee_values, first_value_at

MOST_ROWS: Final = 4400
"""Rows read for a series: three days of minutes, half a year of hours, or twelve years of days."""

_FINER: Final = {Level.HOUR: Level.MINUTE, Level.DAY: Level.HOUR}


class Reach(NamedTuple):
    """A stretch of time in milliseconds: from `since` to before `until`."""

    since: int
    until: int

    def holds(self, rollup: FeeRollup) -> bool:
        """Whether all that was rolled up was seen in it."""
        return self.since <= rollup.first_at and rollup.last_at < self.until

    def meets(self, rollup: FeeRollup) -> bool:
        """Whether some of what was rolled up may have been seen in it."""
        return self.since <= rollup.last_at and rollup.first_at < self.until


def level_for(connection: Connection, of: SeriesOf, reach: Reach, step: int) -> Level | None:
    """Return the level that makes up steps with few rows, None where single values do.

    It is longer than the step where the stretch has too many of what would fit, or where the
    stretch begins before the time from which on these are kept.
    """
    level = fitting_level(reach, step)
    if level in {Level.HOUR, Level.DAY}:
        return level
    since = max(reach.since, first_at(connection, of) or 0)
    if level is None:
        kept_since = first_value_at(connection, of)
        if kept_since is not None and kept_since <= since:
            return None
        level = coarsen(reach, Level.MINUTE)
    if level is Level.MINUTE:
        minutes_since = first_begin(connection, of, Level.MINUTE)
        if minutes_since is None or Level.MINUTE.begin_of(since) < minutes_since:
            return coarsen(reach, Level.HOUR)
    return level


def fitting_level(reach: Reach, step: int) -> Level | None:
    """Return the level that makes up steps with few rows, None for a step below a minute."""
    fitting = [level for level in Level if step % level.length == 0]
    if not fitting and step < Level.MINUTE.length:
        return None
    return coarsen(reach, fitting[-1] if fitting else Level.MINUTE)


def whole_steps(level: Level, step: int) -> int:
    """Return the length of a step that whole roll-ups make up: the one given, or the next."""
    return -(-step // level.length) * level.length


def coarsen(reach: Reach, level: Level) -> Level:
    """Return the level, or the next longer one of which the stretch has few enough."""
    stretch = reach.until - reach.since
    few = (each for each in Level if each >= level and stretch <= MOST_ROWS * each.length)
    return next(few, Level.DAY)


def cut(
    connection: Connection,
    of: SeriesOf,
    level: Level,
    rollup_at: tuple[int, FeeRollup],
    reach: Reach,
) -> FeeRollup | None:
    """Return what of a roll-up was seen in a stretch, None for nothing.

    It is told by finer ones and, in the end, by single values. Where these are kept no longer,
    the roll-up stays whole.
    """
    begins_at, rollup = rollup_at
    if reach.holds(rollup) or not reach.meets(rollup):
        return rollup if reach.holds(rollup) else None
    end, parts = begins_at + level.length, list[FeeRollup]()
    if level is Level.MINUTE:
        values = fee_values(connection, of, begins_at, end)
        parts = [FeeRollup.of(each) for each in values]
        if len(parts) != rollup.seen:
            return rollup
        parts = [each for each in parts if reach.holds(each)]
    else:
        finer = rollups_between(connection, of, _FINER[level], begins_at, end)
        if sum(each.seen for each in finer.values()) != rollup.seen:
            return rollup
        found = (cut(connection, of, _FINER[level], each, reach) for each in finer.items())
        parts = [each for each in found if each is not None]
    return FeeRollup.of_parts(parts) if parts else None
