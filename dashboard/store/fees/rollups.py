"""Roll-ups of fees kept right as values arrive: in order, late, or in the place of others.

A value that is newer than all others is added to the roll-ups of its minute, hour and day. Where
one is late or replaced, its minute is made anew of its values, its hour of minutes and its day
of hours. What is kept no longer, or was never kept, cannot be made anew: there a value is added
to what is known, and bounds and gaps stay as wide as they were.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeRollup, FeeSeries, Level, RolledUp, SeenFee
from dashboard.domain.quantity import NetworkId
from dashboard.store.fees.rollup_rows import keep_rollups, newest_rollups, rollups_between
from dashboard.store.fees.values import SeriesOf, fee_values


class Arrival(NamedTuple):
    """A value that was stored just now, and the one whose place it took, if it did."""

    value: SeenFee
    instead_of: SeenFee | None = None


Arrivals: TypeAlias = defaultdict[FeeSeries, list[Arrival]]


def roll_up_arrivals(connection: Connection, network_id: NetworkId, arrivals: Arrivals) -> None:
    """Bring the roll-ups of a network up to what was stored in this transaction."""
    for series, some in arrivals.items():
        of = SeriesOf(network_id, series)
        if len(some) == 1 and _is_appended(connection, of, some[0].value):
            continue
        for day, of_day in _by(Level.DAY, sorted(some, key=lambda each: each.value.at)):
            _change_day(connection, of, day, of_day)


def _is_appended(connection: Connection, of: SeriesOf, value: SeenFee) -> bool:
    """Add a value to the newest roll-ups, unless it is older than they are, or one is missing."""
    newest = newest_rollups(connection, of)
    last_at = {each.rollup.last_at for each in newest.values()}
    if newest and (len(newest) < len(Level) or len(last_at) > 1 or value.at <= max(last_at)):
        return False
    grown = []
    for level in Level:
        begins_at, held = level.begin_of(value.at), newest.get(level)
        if held is not None and held.begins_at == begins_at:
            held.rollup.add(value)
            grown.append(held)
        else:
            grown.append(RolledUp(level, begins_at, FeeRollup.of(value)))
    keep_rollups(connection, of, grown)
    return True


def _change_day(
    connection: Connection, of: SeriesOf, day: int, arrivals: Sequence[Arrival]
) -> None:
    """Change the roll-ups of one day that cover some arrivals."""
    days, hours = (
        rollups_between(connection, of, level, day, day + Level.DAY.length)
        for level in (Level.DAY, Level.HOUR)
    )
    changed = []
    for hour, of_hour in _by(Level.HOUR, arrivals):
        minutes = rollups_between(connection, of, Level.MINUTE, hour, hour + Level.HOUR.length)
        changed += _change_minutes(connection, of, _Hour(hours.get(hour), minutes), of_hour)
        hours[hour] = _changed(hours.get(hour), minutes, of_hour)
        changed.append(RolledUp(Level.HOUR, hour, hours[hour]))
    changed.append(RolledUp(Level.DAY, day, _changed(days.get(day), hours, arrivals)))
    keep_rollups(connection, of, changed)


class _Hour(NamedTuple):
    """The roll-up of an hour, and those of its minutes, by when they begin."""

    rollup: FeeRollup | None
    minutes: dict[int, FeeRollup]

    @property
    def is_whole(self) -> bool:
        """Whether no minute is kept no longer."""
        return self.rollup is None or self.rollup.seen == _seen(self.minutes.values())


def _change_minutes(
    connection: Connection, of: SeriesOf, hour: _Hour, arrivals: Sequence[Arrival]
) -> list[RolledUp]:
    """Change the minutes of an hour; a minute that may be kept no longer is not begun anew."""
    since = Level.MINUTE.begin_of(arrivals[0].value.at)
    until = Level.MINUTE.begin_of(arrivals[-1].value.at) + Level.MINUTE.length
    values = fee_values(connection, of, since, until)
    stored = {
        minute: {number: FeeRollup.of(value) for number, value in enumerate(some)}
        for minute, some in groupby(values, lambda value: Level.MINUTE.begin_of(value.at))
    }
    is_whole, changed = hour.is_whole, []
    for minute, some in _by(Level.MINUTE, arrivals):
        held = hour.minutes.get(minute)
        if held is not None or is_whole:
            hour.minutes[minute] = _changed(held, stored.get(minute, {}), some)
            changed.append(RolledUp(Level.MINUTE, minute, hour.minutes[minute]))
    return changed


def _changed(
    held: FeeRollup | None, parts: Mapping[int, FeeRollup], arrivals: Sequence[Arrival]
) -> FeeRollup:
    """Make a roll-up anew of its parts, by their order, or add to it where parts are missing."""
    came = sum(each.instead_of is None for each in arrivals)
    if _seen(parts.values()) == came + (0 if held is None else held.seen):
        return FeeRollup.of_parts(parts[each] for each in sorted(parts))
    if held is None:
        return FeeRollup.of_all(each.value for each in arrivals)
    for value, instead_of in arrivals:
        if instead_of is None:
            held.add(value)
        else:
            held.replace(instead_of, value)
    return held


def _seen(rollups: Iterable[FeeRollup]) -> int:
    return sum(each.seen for each in rollups)


def _by(level: Level, arrivals: Sequence[Arrival]) -> Iterator[tuple[int, list[Arrival]]]:
    """Group arrivals, which come in order of time, by what covers them."""
    for begins_at, some in groupby(arrivals, lambda each: level.begin_of(each.value.at)):
        yield begins_at, list(some)
