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
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection

from dashboard.domain.fee_histogram import FeeHistogram
from dashboard.domain.fee_rollup import FeeRollup, FeeSeries, RolledUp, RollupLevel, TimedFee
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row, read_rows, write_rows
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.schema import fee_rollups

_COLUMNS: Final = ", ".join(f'"{column.name}"' for column in fee_rollups.columns)
_KEY: Final = ", ".join(column.name for column in fee_rollups.primary_key)
_NEW_VALUES: Final = ", ".join(
    f'"{column.name}" = excluded."{column.name}"'
    for column in fee_rollups.columns
    if not column.primary_key
)
_PUT: Final = (
    f"INSERT INTO fee_rollups ({_COLUMNS}) VALUES ({', '.join('?' * len(fee_rollups.columns))}) "  # noqa: S608 - names of ours
    f"ON CONFLICT ({_KEY}) DO UPDATE SET {_NEW_VALUES}"
)
_WHOLE: Final = (
    'level, begins_at, first_at, last_at, lowest, highest, total, seen, estimated, "last", '
    "longest_gap, histogram"
)
_LEVEL: Final = "FROM fee_rollups WHERE network_id = ? AND series = ? AND level = ?"
_BETWEEN: Final = f"{_LEVEL} AND begins_at >= ? AND begins_at < ? ORDER BY begins_at"
_SUMMARY: Final = (
    "first_at, last_at, lowest, highest, total, seen, estimated, median, p90, longest_gap"
)
_PART: Final = "first_at, last_at, lowest, highest, total, seen, estimated, longest_gap, histogram"
_LAST_BEFORE: Final = " UNION ALL ".join(
    f'SELECT * FROM (SELECT last_at, "last" {_LEVEL} AND begins_at < ? AND last_at < ? '  # noqa: S608 - names of ours
    f"ORDER BY begins_at DESC LIMIT 1) AS of_{level.name}"
    for level in RollupLevel
)
_FIRST: Final = f"SELECT first_at {_LEVEL} ORDER BY begins_at LIMIT 1"
_FIRST_BEGIN: Final = f"SELECT begins_at {_LEVEL} ORDER BY begins_at LIMIT 1"
_BEGIN_AFTER: Final = f"SELECT begins_at {_LEVEL} AND begins_at >= ? ORDER BY begins_at LIMIT 1"
_NEWEST: Final = " UNION ALL ".join(
    f"SELECT * FROM (SELECT {_WHOLE} {_LEVEL} ORDER BY begins_at DESC LIMIT 1) AS of_{level.name}"  # noqa: S608 - names of ours
    for level in RollupLevel
)


class SavedFee(NamedTuple):
    """A value that was stored just now, and the one whose place it took, if it did."""

    value: TimedFee
    replaced: TimedFee | None = None


SavedFees: TypeAlias = defaultdict[FeeSeries, list[SavedFee]]


def update_rollups(connection: Connection, network_id: NetworkId, arrivals: SavedFees) -> None:
    """Bring the roll-ups of a network up to what was stored in this transaction."""
    for series, some in arrivals.items():
        of = SeriesKey(network_id, series)
        if len(some) == 1 and _is_appended(connection, of, some[0].value):
            continue
        for day, of_day in _by(RollupLevel.DAY, sorted(some, key=lambda each: each.value.at)):
            _change_day(connection, of, day, of_day)


def _is_appended(connection: Connection, of: SeriesKey, value: TimedFee) -> bool:
    """Add a value to the newest roll-ups, unless it is older than they are, or one is missing."""
    newest = newest_rollups(connection, of)
    last_at = {each.rollup.last_at for each in newest.values()}
    if newest and (len(newest) < len(RollupLevel) or len(last_at) > 1 or value.at <= max(last_at)):
        return False
    grown = []
    for level in RollupLevel:
        begins_at, held = level.begin_of(value.at), newest.get(level)
        if held is not None and held.begins_at == begins_at:
            held.rollup.add(value)
            grown.append(held)
        else:
            grown.append(RolledUp(level, begins_at, FeeRollup.of(value)))
    write_rollups(connection, of, grown)
    return True


def _change_day(
    connection: Connection, of: SeriesKey, day: int, arrivals: Sequence[SavedFee]
) -> None:
    """Change the roll-ups of one day that cover some arrivals."""
    days, hours = (
        rollups_between(connection, of, level, day, day + RollupLevel.DAY.length)
        for level in (RollupLevel.DAY, RollupLevel.HOUR)
    )
    changed = []
    for hour, of_hour in _by(RollupLevel.HOUR, arrivals):
        minutes = rollups_between(
            connection, of, RollupLevel.MINUTE, hour, hour + RollupLevel.HOUR.length
        )
        changed += _change_minutes(connection, of, _Hour(hours.get(hour), minutes), of_hour)
        hours[hour] = _changed(hours.get(hour), minutes, of_hour)
        changed.append(RolledUp(RollupLevel.HOUR, hour, hours[hour]))
    changed.append(RolledUp(RollupLevel.DAY, day, _changed(days.get(day), hours, arrivals)))
    write_rollups(connection, of, changed)


class _Hour(NamedTuple):
    """The roll-up of an hour, and those of its minutes, by when they begin."""

    rollup: FeeRollup | None
    minutes: dict[int, FeeRollup]

    @property
    def is_whole(self) -> bool:
        """Whether no minute is kept no longer."""
        return self.rollup is None or self.rollup.seen == _seen(self.minutes.values())


def _change_minutes(
    connection: Connection, of: SeriesKey, hour: _Hour, arrivals: Sequence[SavedFee]
) -> list[RolledUp]:
    """Change the minutes of an hour; a minute that may be kept no longer is not begun anew."""
    since = RollupLevel.MINUTE.begin_of(arrivals[0].value.at)
    until = RollupLevel.MINUTE.begin_of(arrivals[-1].value.at) + RollupLevel.MINUTE.length
    values = fee_values(connection, of, since, until)
    stored = {
        minute: {number: FeeRollup.of(value) for number, value in enumerate(some)}
        for minute, some in groupby(values, lambda value: RollupLevel.MINUTE.begin_of(value.at))
    }
    is_whole, changed = hour.is_whole, []
    for minute, some in _by(RollupLevel.MINUTE, arrivals):
        held = hour.minutes.get(minute)
        if held is not None or is_whole:
            hour.minutes[minute] = _changed(held, stored.get(minute, {}), some)
            changed.append(RolledUp(RollupLevel.MINUTE, minute, hour.minutes[minute]))
    return changed


def _changed(
    held: FeeRollup | None, parts: Mapping[int, FeeRollup], arrivals: Sequence[SavedFee]
) -> FeeRollup:
    """Make a roll-up anew of its parts, by their order, or add to it where parts are missing."""
    came = sum(each.replaced is None for each in arrivals)
    if _seen(parts.values()) == came + (0 if held is None else held.seen):
        return FeeRollup.of_parts(parts[each] for each in sorted(parts))
    if held is None:
        return FeeRollup.of_all(each.value for each in arrivals)
    for value, replaced in arrivals:
        if replaced is None:
            held.add(value)
        else:
            held.replace(replaced, value)
    return held


def _seen(rollups: Iterable[FeeRollup]) -> int:
    return sum(each.seen for each in rollups)


def _by(level: RollupLevel, arrivals: Sequence[SavedFee]) -> Iterator[tuple[int, list[SavedFee]]]:
    """Group arrivals, which come in order of time, by what covers them."""
    for begins_at, some in groupby(arrivals, lambda each: level.begin_of(each.value.at)):
        yield begins_at, list(some)


def write_rollups(connection: Connection, of: SeriesKey, rolled_up: Iterable[RolledUp]) -> None:
    """Write roll-ups, each in the place of the one that covers the same time."""
    write_rows_of_rollups(connection, (row_of(of, each) for each in rolled_up))


def write_rows_of_rollups(connection: Connection, rows: Iterable[Row]) -> None:
    """Write rows with all columns, each in the place of the one that covers the same time."""
    write_rows(connection, _PUT, list(rows))


def rollups_between(
    connection: Connection, of: SeriesKey, level: RollupLevel, since: int, until: int
) -> dict[int, FeeRollup]:
    """Return the roll-ups that begin at or after `since` and before `until`, oldest first."""
    rows = _select(connection, f"SELECT {_WHOLE} {_BETWEEN}", of, level, (since, until))
    return {row[1]: rollup_of(row) for row in rows}


def rows_between(
    connection: Connection, of: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return the rows, with all columns, that begin from `since` to before `until`."""
    return _select(connection, f"SELECT {_COLUMNS} {_BETWEEN}", of, level, (since, until))


def first_begin_after(
    connection: Connection, of: SeriesKey, level: RollupLevel, at: int
) -> int | None:
    """Return when the first roll-up of a level begins that begins at or after a time."""
    for (found,) in _select(connection, _BEGIN_AFTER, of, level, (at,)):
        return int(found)
    return None


def begins_between(
    connection: Connection, of: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[int]:
    """Return when roll-ups begin that begin at or after `since` and before `until`."""
    rows = _select(connection, f"SELECT begins_at {_BETWEEN}", of, level, (since, until))
    return [begins_at for (begins_at,) in rows]


def newest_rollups(connection: Connection, of: SeriesKey) -> dict[RollupLevel, RolledUp]:
    """Return the newest roll-up of each level that has one."""
    network_id, series = of.network_id, int(of.series)
    values = [each for level in RollupLevel for each in (network_id, series, int(level))]
    rows = read_rows(connection, _NEWEST, values)
    return {
        RollupLevel(row[0]): RolledUp(RollupLevel(row[0]), row[1], rollup_of(row)) for row in rows
    }


def summaries_between(
    connection: Connection, of: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return what each roll-up tells without its histogram, as `summary_of` does, oldest first."""
    return _select(connection, f"SELECT {_SUMMARY} {_BETWEEN}", of, level, (since, until))


def parts_between(
    connection: Connection, of: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return the same with the histogram instead of its percentiles, as `part_of` does."""
    return _select(connection, f"SELECT {_PART} {_BETWEEN}", of, level, (since, until))


def lasts_between(
    connection: Connection, of: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return time and fee of the last value of each roll-up, oldest first."""
    return _select(connection, f'SELECT last_at, "last" {_BETWEEN}', of, level, (since, until))


def last_before(connection: Connection, of: SeriesKey, at: int) -> TimedFee | None:
    """Return the last value that a roll-up tells which ended before a time."""
    network_id, series = of.network_id, int(of.series)
    values = [each for level in RollupLevel for each in (network_id, series, int(level), at, at)]
    rows = read_rows(connection, _LAST_BEFORE, values)
    return max((TimedFee(last_at, fee) for last_at, fee in rows), default=None)


def first_at(connection: Connection, of: SeriesKey) -> int | None:
    """Return when the first value was of which a roll-up is kept."""
    for (found,) in _select(connection, _FIRST, of, RollupLevel.DAY, ()):
        return int(found)
    return None


def first_begin(connection: Connection, of: SeriesKey, level: RollupLevel) -> int | None:
    """Return when the oldest roll-up of a level begins."""
    for (found,) in _select(connection, _FIRST_BEGIN, of, level, ()):
        return int(found)
    return None


def summary_of(rollup: FeeRollup) -> Row:
    """Lay out what a roll-up tells without its histogram, as the store keeps it."""
    return (
        rollup.first_at,
        rollup.last_at,
        rollup.lowest,
        rollup.highest,
        _octets_of(rollup.total),
        rollup.seen,
        rollup.estimated,
        *rollup.percentiles(50, 90),
        rollup.longest_gap,
    )


def part_of(rollup: FeeRollup) -> Row:
    """Lay out what a roll-up tells but for its percentiles, its histogram last."""
    *facts, _, _, gap = summary_of(rollup)
    return (*facts, gap, rollup.histogram.encode())


def row_of(of: SeriesKey, rolled_up: RolledUp) -> Row:
    """Lay a roll-up out as a row with all columns."""
    level, begins_at, rollup = rolled_up
    *facts, gap = summary_of(rollup)
    key = (of.network_id, int(of.series), int(level), begins_at)
    return (*key, *facts, rollup.last, gap, rollup.histogram.encode())


def rollup_of(row: Row) -> FeeRollup:
    """Read a roll-up back from the columns that `rollups_between` selects."""
    _, _, first_at, last_at, lowest, highest, total, seen, estimated, last, gap, histogram = row
    return FeeRollup(
        first_at,
        last_at,
        lowest,
        highest,
        int.from_bytes(total, "big"),
        seen,
        estimated,
        last,
        gap,
        FeeHistogram.decode(histogram),
    )


def rollup_of_whole(row: Row) -> FeeRollup:
    """Read a roll-up back from a row with all columns.

    ValueError where its histogram is none, or counts nothing.
    """
    rollup = rollup_of((*row[2:11], *row[13:]))
    if not rollup.histogram.count:
        raise ValueError("the histogram of a roll-up counts nothing")
    return rollup


def _octets_of(total: int) -> bytes:
    return total.to_bytes((total.bit_length() + 7) // 8, "big")


def _select(
    connection: Connection, statement: str, of: SeriesKey, level: RollupLevel, span: tuple[Any, ...]
) -> list[Row]:
    return read_rows(connection, statement, (of.network_id, int(of.series), int(level), *span))
