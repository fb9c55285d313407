"""Roll-ups of fees as stored: updated as fees are saved, in order, late or replaced.

A fee that is newer than all others is added to the roll-ups of its minute, hour and day. If a fee
is late or replaced, its minute is recomputed from its fees, its hour from minutes and its day from
hours. A roll-up whose parts are not kept cannot be recomputed: then the fee is added to it, and its
bounds and gaps stay as wide as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, Final

from sqlalchemy import Connection

from dashboard.domain.fees.gas import FeeSeries, RollupLevel, SavedFee, SavedFees, TimedFee
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row, placeholders, read_rows, write_rows
from dashboard.store.fees.rollup_arrays import (
    RollupArrays,
    changed_rollups,
    with_newer_fees,
    without_purged,
)
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.schema import fee_rollups

_QUOTED: Final = [f'"{column.name}"' for column in fee_rollups.columns]
_COLUMNS, _WITHOUT_HISTOGRAM = ", ".join(_QUOTED), ", ".join(_QUOTED[:-1])
_NAMES: Final = [column.name for column in fee_rollups.columns]
_SERIES_AT, _LEVEL_AT, _LAST_AT = map(_NAMES.index, ("series", "level", "last_at"))
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
_LEVEL: Final = "FROM fee_rollups WHERE network_id = ? AND series = ? AND level = ?"
_BETWEEN: Final = f"{_LEVEL} AND begins_at >= ? AND begins_at < ? ORDER BY begins_at"
_MEDIANS: Final = f"SELECT median {_LEVEL} AND begins_at IN "
_TOTALS: Final = f"SELECT first_at, last_at, total, seen {_BETWEEN}"
_LINE: Final = (
    "SELECT begins_at / ? AS step, avg(CAST(median AS DOUBLE PRECISION)) "
    f"{_LEVEL} AND begins_at >= ? AND begins_at < ? GROUP BY step ORDER BY step"
)
_LAST_BEFORE: Final = " UNION ALL ".join(
    f'SELECT * FROM (SELECT last_at, "last" {_LEVEL} AND begins_at < ? AND last_at < ? '  # noqa: S608 - names of ours
    f"ORDER BY begins_at DESC LIMIT 1) AS of_{level.name}"
    for level in RollupLevel
)
_FIRST: Final = f"SELECT first_at {_LEVEL} ORDER BY begins_at LIMIT 1"
_BEGIN_AFTER: Final = f"SELECT begins_at {_LEVEL} AND begins_at >= ? ORDER BY begins_at LIMIT 1"
_NEWEST: Final = (
    f"SELECT * FROM (SELECT {_COLUMNS} {_LEVEL} ORDER BY begins_at DESC LIMIT 1) AS place_{{}}"  # noqa: S608 - names of ours
)


def update_rollups(connection: Connection, network_id: NetworkId, saved: SavedFees) -> None:
    """Update the roll-ups of a network with the fees saved in this transaction."""
    single = {series: fees[0].fee for series, fees in saved.items() if len(fees) == 1}
    appended = _append(connection, network_id, single)
    for series in [each for each in saved if each not in appended]:
        in_order = sorted(saved[series], key=lambda each: each.fee.at)
        for day, of_day in groupby(in_order, lambda each: RollupLevel.DAY.begin_of(each.fee.at)):
            _change_day(connection, SeriesKey(network_id, series), day, list(of_day))


def _append(
    connection: Connection, network_id: NetworkId, fees: Mapping[FeeSeries, TimedFee]
) -> set[FeeSeries]:
    """Add a fee of each series to the newest roll-ups; return the series that were extended.

    A series is left out if its fee is not newer than its roll-ups, or if one of these is missing.
    """
    newest = _newest_rows(connection, network_id, list(fees))
    appended = {each for each, fee in fees.items() if _is_newer(fee, newest[each])}
    places = [(series, level) for series in fees if series in appended for level in RollupLevel]
    rows = with_newer_fees(
        [(network_id, int(series), int(level)) for series, level in places],
        [newest[series].get(level) for series, level in places],
        [fees[series] for series, _ in places],
    )
    write_rollup_rows(connection, rows)
    return appended


def _is_newer(fee: TimedFee, newest: Mapping[RollupLevel, Row]) -> bool:
    """Whether a fee is newer than the newest roll-up of each level, which all end together."""
    last_at = {row[_LAST_AT] for row in newest.values()}
    is_whole = len(newest) == len(RollupLevel) and len(last_at) == 1
    return not newest or (is_whole and fee.at > max(last_at))


def _change_day(
    connection: Connection, key: SeriesKey, day: int, saved: Sequence[SavedFee]
) -> None:
    """Recompute the roll-ups of one day that saved fees, in order of time, change."""
    minute, hour = RollupLevel.MINUTE, RollupLevel.HOUR
    first, last = saved[0].fee.at, saved[-1].fee.at
    since, until = minute.begin_of(first), minute.begin_of(last) + minute.length
    values = RollupArrays.of_fees(fee_values(connection, key, since, until))
    since, until = hour.begin_of(first), hour.begin_of(last) + hour.length
    minutes = read_rollups(connection, key, minute, since, until)
    hours, days = (
        read_rollups(connection, key, level, day, day + RollupLevel.DAY.length)
        for level in (hour, RollupLevel.DAY)
    )
    changed = without_purged(changed_rollups(minute, minutes, values, saved), minutes, hours)
    _write(connection, key, minute, changed)
    minutes = minutes.updated(minute, changed)
    changed = changed_rollups(hour, hours, minutes, saved)
    _write(connection, key, hour, changed)
    hours = hours.updated(hour, changed)
    changed = changed_rollups(RollupLevel.DAY, days, hours, saved)
    _write(connection, key, RollupLevel.DAY, changed)


def _write(
    connection: Connection, key: SeriesKey, level: RollupLevel, rollups: RollupArrays
) -> None:
    write_rollup_rows(connection, rollups.rows(key.network_id, key.series, level))


def write_rollup_rows(connection: Connection, rows: Iterable[Row]) -> None:
    """Write rows with all columns, each replacing the row of the same period."""
    write_rows(connection, _PUT, list(rows))


def rows_between(
    connection: Connection, key: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return the rows, with all columns, that begin from `since` to before `until`."""
    return _select(connection, f"SELECT {_COLUMNS} {_BETWEEN}", key, level, (since, until))


def first_begin_after(
    connection: Connection, key: SeriesKey, level: RollupLevel, at: int = -(2**63)
) -> int | None:
    """Return when the first roll-up of a level begins at or after a time."""
    for (found,) in _select(connection, _BEGIN_AFTER, key, level, (at,)):
        return int(found)
    return None


def rollup_begins_between(
    connection: Connection, key: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[int]:
    """Return when roll-ups begin that begin at or after `since` and before `until`."""
    rows = _select(connection, f"SELECT begins_at {_BETWEEN}", key, level, (since, until))
    return [begins_at for (begins_at,) in rows]


def _newest_rows(
    connection: Connection, network_id: NetworkId, several: Sequence[FeeSeries]
) -> dict[FeeSeries, dict[RollupLevel, Row]]:
    """Return, of some series, the newest row of each level that has one, with all columns."""
    places = [(network_id, int(series), int(level)) for series in several for level in RollupLevel]
    found: dict[FeeSeries, dict[RollupLevel, Row]] = {each: {} for each in several}
    if places:
        newest = " UNION ALL ".join(_NEWEST.format(each) for each in range(len(places)))
        for row in read_rows(connection, newest, list(chain.from_iterable(places))):
            found[FeeSeries(row[_SERIES_AT])][RollupLevel(row[_LEVEL_AT])] = row
    return found


def medians_at(
    connection: Connection, key: SeriesKey, level: RollupLevel, begins: Sequence[int]
) -> list[int]:
    """Return the medians of those roll-ups that begin at some times, in no order."""
    rows = _select(connection, _MEDIANS + placeholders(begins), key, level, tuple(begins))
    return [median for (median,) in rows]


def medians_between(
    connection: Connection, key: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return begin and median of the roll-ups that begin in a time, oldest first."""
    return _select(connection, f"SELECT begins_at, median {_BETWEEN}", key, level, (since, until))


def totals_between(
    connection: Connection, key: SeriesKey, level: RollupLevel, since: int, until: int
) -> list[Row]:
    """Return first time, last time, total in bytes and number of values, oldest first.

    A mean needs no more, and reading all columns takes four times as long.
    """
    return _select(connection, _TOTALS, key, level, (since, until))


def line_between(
    connection: Connection, key: SeriesKey, since: int, until: int, step: int
) -> list[Row]:
    """Return a fee for a sparkline: number of the step since 1970, mean of its minutes.

    The database adds up the minutes: for a day that takes half a millisecond. A step without
    minutes has no row.
    """
    span = (step, key.network_id, int(key.series), int(RollupLevel.MINUTE), since, until)
    return read_rows(connection, _LINE, span)


def last_before(connection: Connection, key: SeriesKey, at: int) -> TimedFee | None:
    """Return the last value of the roll-ups that ended before a time."""
    network_id, series = key.network_id, int(key.series)
    values = [each for level in RollupLevel for each in (network_id, series, int(level), at, at)]
    rows = read_rows(connection, _LAST_BEFORE, values)
    return max((TimedFee(last_at, fee) for last_at, fee in rows), default=None)


def first_at(connection: Connection, key: SeriesKey) -> int | None:
    """Return the time of the first value in the stored roll-ups."""
    for (found,) in _select(connection, _FIRST, key, RollupLevel.DAY, ()):
        return int(found)
    return None


def read_rollups(
    connection: Connection,
    key: SeriesKey,
    level: RollupLevel,
    since: int,
    until: int,
    *,
    with_histograms: bool = True,
) -> RollupArrays:
    """Return the roll-ups that begin at or after `since` and before `until`, oldest first.

    Without histograms, which are most of the data, they cannot be rolled up further.
    """
    columns = _COLUMNS if with_histograms else _WITHOUT_HISTOGRAM
    rows = _select(connection, f"SELECT {columns} {_BETWEEN}", key, level, (since, until))
    return RollupArrays.of_rows(rows)


def _select(
    connection: Connection,
    statement: str,
    key: SeriesKey,
    level: RollupLevel,
    span: tuple[Any, ...],
) -> list[Row]:
    return read_rows(connection, statement, (key.network_id, int(key.series), int(level), *span))
