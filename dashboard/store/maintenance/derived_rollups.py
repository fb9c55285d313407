"""Roll-ups of fees, compared with what they are made of: values, minutes, hours.

All are computed again as arrays, some days of a series at a time. If values or minutes were purged,
a roll-up cannot be computed again and stays as it is: it has to be consistent in itself, and with
what is left of its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection

from dashboard.domain.fees.gas import FeeSeries, RollupLevel
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row, read_rows
from dashboard.store.fees.rollup_arrays import RollupArrays
from dashboard.store.fees.rollups import first_begin_after, rows_between, write_rollup_rows
from dashboard.store.fees.stored_fees import SeriesKey, fee_values, first_value_at
from dashboard.store.maintenance.findings import RESTORE, Finding, first_of, rebuildable
from dashboard.store.schema import fee_rollups
from dashboard.store.schema.columns import moment_of

_DAYS_AT_ONCE: Final = 4
_DAY: Final = RollupLevel.DAY.length
_NETWORKS: Final = tuple(
    f"SELECT min(network_id) FROM {table} WHERE network_id > ?"  # noqa: S608 - names of ours
    for table in ("fee_rollups", "suggested_gas_fees", "estimated_base_fees", "fee_percentiles")
)
_BEFORE_ALL: Final = -(2**63)
_NAMES: Final = [column.name for column in fee_rollups.columns]
_BEGIN, _SEEN = map(_NAMES.index, ("begins_at", "seen"))

Rows: TypeAlias = Mapping[int, Row]
"""Rows with all columns, by when they begin."""


class Days(NamedTuple):
    """Some whole days of a series, from `since` to before `until`."""

    of: SeriesKey
    since: int
    until: int


class WrongRollup(NamedTuple):
    """A wrong roll-up, the reason, and the right row, if that can be computed."""

    level: RollupLevel
    begins_at: int
    trouble: str
    row: Row | None


def wrong_rollups(connection: Connection) -> Iterator[Finding]:
    found = (
        _finding(days.of, wrong)
        for days in days_with_fees(connection)
        for wrong in wrong_in_days(connection, days)
    )
    yield from first_of(found, "roll-ups of fees that differ from what they are computed from")


def days_with_fees(connection: Connection) -> Iterator[Days]:
    """Yield all days with any stored fee, a few at a time, by series and time."""
    for network_id in _networks_with_fees(connection):
        for series in FeeSeries:
            of, until = SeriesKey(network_id, series), _BEFORE_ALL
            while (since := _next_day(connection, of, until)) is not None:
                until = since + _DAYS_AT_ONCE * _DAY
                yield Days(of, since, until)


def rebuild_days(connection: Connection, days: Days) -> int:
    """Replace the wrong roll-ups of some days that can be computed; return how many."""
    rows = [each.row for each in wrong_in_days(connection, days) if each.row is not None]
    write_rollup_rows(connection, rows)
    return len(rows)


def wrong_in_days(connection: Connection, days: Days) -> list[WrongRollup]:
    """Return what is wrong: minutes by values, hours by corrected minutes, then days."""
    of, since, until = days
    found: list[WrongRollup] = []
    parts = RollupArrays.of_fees(fee_values(connection, *days))
    for level in RollupLevel:
        stored = _by_begin(rows_between(connection, of, level, since, until))
        computed = _by_begin(parts.rolled_up(level.length).rows(*of, level))
        wrong = _compared(of, level, stored, computed)
        if level is RollupLevel.MINUTE and wrong:
            hours = rows_between(connection, of, RollupLevel.HOUR, since, until)
            wrong = _without_purged(stored, wrong, _by_begin(hours))
        found += wrong
        if level is not RollupLevel.DAY:
            parts = _as_they_should_be(RollupLevel(level + 1), stored, wrong)
    return found


def _by_begin(rows: Sequence[Row]) -> Rows:
    return {row[_BEGIN]: row for row in rows}


def _as_they_should_be(
    level: RollupLevel, stored: Rows, wrong: Sequence[WrongRollup]
) -> RollupArrays:
    """Return the parts of a level, without those that depend on a part that cannot be computed."""
    lost = {level.begin_of(each.begins_at) for each in wrong if each.row is None}
    right = {**stored, **{each.begins_at: each.row for each in wrong if each.row is not None}}
    return RollupArrays.of_rows(
        [right[begin] for begin in sorted(right) if level.begin_of(begin) not in lost]
    )


def _compared(of: SeriesKey, level: RollupLevel, stored: Rows, computed: Rows) -> list[WrongRollup]:
    """Check rows that are inconsistent, or differ from what their parts add up to."""
    suspected = {begin for begin, row in computed.items() if stored.get(begin) != row}
    suspected.update(RollupArrays.of_rows(list(stored.values())).inconsistent(level).tolist())
    if level is RollupLevel.DAY:
        suspected.update(stored.keys() - computed.keys())
    found = (
        _checked(of, level, stored.get(begin), computed.get(begin)) for begin in sorted(suspected)
    )
    return [each for each in found if each is not None]


def _without_purged(stored: Rows, wrong: Sequence[WrongRollup], hours: Rows) -> list[WrongRollup]:
    """Leave out minutes that were purged: others of the same hour are gone."""
    kept: defaultdict[int, int] = defaultdict(int)
    came: defaultdict[int, int] = defaultdict(int)
    right = dict(stored)
    for each in wrong:
        if each.begins_at not in stored and each.row is not None:
            came[RollupLevel.HOUR.begin_of(each.begins_at)] += each.row[_SEEN]
        elif each.row is not None:
            right[each.begins_at] = each.row
    for begin, row in right.items():
        kept[RollupLevel.HOUR.begin_of(begin)] += row[_SEEN]
    return [
        each
        for each in wrong
        if each.begins_at in stored
        or (hour := RollupLevel.HOUR.begin_of(each.begins_at)) not in hours
        or hours[hour][_SEEN] in {kept[hour], kept[hour] + came[hour]}
    ]


def _checked(
    of: SeriesKey, level: RollupLevel, held: Row | None, made: Row | None
) -> WrongRollup | None:
    """Check a row against its parts, which are complete if they have as many values as the row."""
    if held is None:
        assert made is not None  # noqa: S101 - one of both is there
        return WrongRollup(level, made[_BEGIN], "it is missing", made)
    begins_at, rollup = held[_BEGIN], RollupArrays.of_rows([held]).recounted()
    trouble = "it contradicts itself" if len(rollup.inconsistent(level)) else None
    if made is not None:
        counted = held[_SEEN] if trouble is None else int(rollup.histograms.counts.sum())
        if made[_SEEN] >= min(held[_SEEN], counted):
            return WrongRollup(level, begins_at, _difference(held, made), made)
        if trouble is None and not _holds(rollup, RollupArrays.of_rows([made])):
            trouble = "it lacks values that it must contain"
    if trouble is None and level is RollupLevel.DAY:
        trouble = "hours of it are missing"
    if trouble is not None:
        return WrongRollup(level, begins_at, trouble, None)
    [again] = rollup.rows(*of, level)
    if again != held:
        trouble = "its percentiles do not match its histogram"
        return WrongRollup(level, begins_at, trouble, again)
    return None


def _holds(whole: RollupArrays, part: RollupArrays) -> bool:
    """Whether a roll-up can be one of these values and others."""
    bounds = (
        whole.first <= part.first,
        part.last <= whole.last,
        whole.lowest <= part.lowest,
        part.highest <= whole.highest,
        part.totals <= whole.totals,
    )
    return all(each.all() for each in bounds) and whole.histograms.holds(part.histograms)


def _difference(held: Row, made: Row) -> str:
    """Name the columns that differ from the computed ones."""
    names = (name for name, here, there in zip(_NAMES, held, made, strict=True) if here != there)
    return f"recomputed, it differs in {', '.join(names)}"


def _networks_with_fees(connection: Connection) -> list[NetworkId]:
    """Return the networks with any stored fee, in few reads of the indexes."""
    found: set[int] = set()
    for query in _NETWORKS:
        last = -1
        while (row := read_rows(connection, query, (last,))[0][0]) is not None:
            found.add(last := int(row))
    return [NetworkId(each) for each in sorted(found)]


def _next_day(connection: Connection, of: SeriesKey, since: int) -> int | None:
    """Return the first day with data from `since` on."""
    begins = [first_begin_after(connection, of, level, since) for level in RollupLevel]
    begins.append(first_value_at(connection, of, since))
    days = (RollupLevel.DAY.begin_of(each) for each in begins if each is not None)
    return min(days, default=None)


def _finding(of: SeriesKey, wrong: WrongRollup) -> Finding:
    name, fee = wrong.level.name.lower(), of.series.name.lower()
    what = (
        f"the {fee} of network {of.network_id} in the {name} from "
        f"{moment_of(wrong.begins_at):%Y-%m-%d %H:%M} on: {wrong.trouble}"
    )
    return Finding(what, RESTORE) if wrong.row is None else rebuildable(what)
