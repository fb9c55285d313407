"""Roll-ups of fees, compared with what they are made of: values, minutes, hours.

All are computed again as arrays, some days of a series at a time. Where values or minutes were
purged, a roll-up cannot be computed again and stays as it is: it has to agree with itself, and
with what is left of its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection

from dashboard.domain.fees.rollup import FeeSeries, RollupLevel
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row, read_rows
from dashboard.store.fees.rollup_arrays import RollupArrays
from dashboard.store.fees.rollups import (
    first_begin_after,
    rows_between,
    write_rollup_rows,
)
from dashboard.store.fees.stored_fees import SeriesKey, fee_values, first_value_at
from dashboard.store.maintenance.finding import RESTORE, Finding, first_of, rebuildable
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
_BEGIN, _SEEN, _TOTAL, _HISTOGRAM = map(_NAMES.index, ("begins_at", "seen", "total", "histogram"))

Rows: TypeAlias = Mapping[int, Row]
"""Rows with all columns, by when they begin."""


class Days(NamedTuple):
    """Some whole days of a series, from `since` to before `until`."""

    of: SeriesKey
    since: int
    until: int


class WrongRollup(NamedTuple):
    """A roll-up that is wrong, why, and the row that belongs there, if that can be computed."""

    level: RollupLevel
    begins_at: int
    trouble: str
    row: Row | None


def wrong_rollups(connection: Connection) -> Iterator[Finding]:
    """Yield which roll-ups are wrong."""
    found = (
        _finding(days.of, wrong)
        for days in days_with_fees(connection)
        for wrong in wrong_in_days(connection, days)
    )
    yield from first_of(found, "roll-ups of fees that differ from what they are computed from")


def days_with_fees(connection: Connection) -> Iterator[Days]:
    """Yield all days of which any fee is kept, a few at a time, by series and time."""
    for network_id in _networks_with_fees(connection):
        for series in FeeSeries:
            of, until = SeriesKey(network_id, series), _BEFORE_ALL
            while (since := _next_day(connection, of, until)) is not None:
                until = since + _DAYS_AT_ONCE * _DAY
                yield Days(of, since, until)


def rebuild_days(connection: Connection, days: Days) -> int:
    """Write the roll-ups of some days that are wrong and can be computed; return how many."""
    rows = [each.row for each in wrong_in_days(connection, days) if each.row is not None]
    write_rollup_rows(connection, rows)
    return len(rows)


def wrong_in_days(connection: Connection, days: Days) -> list[WrongRollup]:
    """Return what is wrong: minutes by values, hours by minutes as they should be, then days."""
    of, since, until = days
    found: list[WrongRollup] = []
    made = _values_rolled_up(connection, days)
    for level in RollupLevel:
        stored = {row[_BEGIN]: row for row in rows_between(connection, of, level, since, until)}
        held = RollupArrays.of_rows(list(stored.values())) if stored else None
        wrong = _compared(of, level, (stored, held), made)
        if level is RollupLevel.MINUTE and wrong:
            hours = rows_between(connection, of, RollupLevel.HOUR, since, until)
            wrong = _without_purged(stored, wrong, {row[_BEGIN]: row for row in hours})
        found += wrong
        if level is not RollupLevel.DAY:
            made = _rolled_up(RollupLevel(level + 1), (stored, held), wrong)
    return found


def _values_rolled_up(connection: Connection, days: Days) -> RollupArrays | None:
    values = fee_values(connection, *days)
    return RollupArrays.of_fees(values).rolled_up(RollupLevel.MINUTE.length) if values else None


def _rolled_up(
    level: RollupLevel, parts: tuple[Rows, RollupArrays | None], wrong: Sequence[WrongRollup]
) -> RollupArrays | None:
    """Roll parts up as they should be; what has a part that cannot be computed is left out."""
    stored, held = parts
    if wrong:
        lost = {level.begin_of(each.begins_at) for each in wrong if each.row is None}
        right = {**stored, **{each.begins_at: each.row for each in wrong if each.row is not None}}
        rows = [right[begin] for begin in sorted(right) if level.begin_of(begin) not in lost]
        held = RollupArrays.of_rows(rows) if rows else None
    return None if held is None else held.rolled_up(level.length)


def _compared(
    of: SeriesKey,
    level: RollupLevel,
    held: tuple[Rows, RollupArrays | None],
    made: RollupArrays | None,
) -> list[WrongRollup]:
    """Look at rows that contradict themselves, or are not what their parts make of them."""
    stored, arrays = held
    computed: Rows = {}
    if made is not None:
        computed = {row[_BEGIN]: row for row in made.rows(of.network_id, of.series, level)}
    suspected = {begin for begin, row in computed.items() if stored.get(begin) != row}
    if arrays is not None:
        suspected.update(arrays.inconsistent(level).tolist())
    if level is RollupLevel.DAY:
        suspected.update(stored.keys() - computed.keys())
    found = (
        _judged(of, level, begin, (stored.get(begin), computed.get(begin)))
        for begin in sorted(suspected)
    )
    return [each for each in found if each is not None]


def _without_purged(stored: Rows, wrong: Sequence[WrongRollup], hours: Rows) -> list[WrongRollup]:
    """Leave out minutes that are not there since they were purged: others of the hour are gone."""
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


def _judged(
    of: SeriesKey, level: RollupLevel, begins_at: int, rows: tuple[Row | None, Row | None]
) -> WrongRollup | None:
    """Judge a row by its parts, all of which are there if they hold as many values as it does."""
    held, made = rows
    if held is None:
        return WrongRollup(level, begins_at, "it is missing", made)
    rollup = RollupArrays.of_rows([held])
    counted = int(rollup.histograms.counts.sum())
    trouble = _contradiction(level, held, counted)
    if made is not None:
        if made[_SEEN] >= (held[_SEEN] if trouble is None else min(held[_SEEN], counted)):
            return WrongRollup(level, begins_at, _difference(held, made), made)
        if trouble is None and not _holds(held, made):
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


def _contradiction(level: RollupLevel, held: Row, counted: int) -> str | None:
    """Say how a row contradicts itself, if it does."""
    row = dict(zip(_NAMES, held, strict=True))
    begins_at, seen, total = row["begins_at"], row["seen"], int.from_bytes(row["total"], "big")
    if not counted:
        return "its histogram cannot be read"
    if counted != seen:
        return f"it has {seen:,} values, and its histogram {counted:,}"
    holds = {
        "its first or last value is outside of its time": (
            begins_at <= row["first_at"] <= row["last_at"] < begins_at + level.length
        ),
        "its last value is not between its lowest and its highest": (
            row["lowest"] <= row["last"] <= row["highest"]
        ),
        "its sum does not fit its number of values": (
            row["lowest"] * seen <= total <= row["highest"] * seen
        ),
        "more of its values are estimated than it has": 0 <= row["estimated"] <= seen,
        "its longest gap is negative": row["longest_gap"] >= 0,
        f"no {level.name.lower()} begins at that time": begins_at % level.length == 0,
    }
    return next((trouble for trouble, is_right in holds.items() if not is_right), None)


def _holds(held: Row, made: Row) -> bool:
    """Whether a roll-up can be that of some values and of more."""
    whole, part = (RollupArrays.of_rows([each]) for each in (held, made))
    bounds = (
        whole.first <= part.first,
        part.last <= whole.last,
        whole.lowest <= part.lowest,
        part.highest <= whole.highest,
        part.totals <= whole.totals,
    )
    return all(each.all() for each in bounds) and whole.histograms.holds(part.histograms)


def _difference(held: Row, made: Row) -> str:
    """Say what a row says, and what it is made of."""
    said = []
    for name, here, there in zip(_NAMES, held, made, strict=True):
        if here == there or name in {"median", "p90"}:
            continue
        if name == "histogram":
            said.append("another histogram")
        else:
            one, other = (
                int.from_bytes(each, "big") if name == "total" else each for each in (here, there)
            )
            said.append(f"{name} {one} instead of {other}")
    return f"recomputed, it differs: {', '.join(said) or 'other percentiles'}"


def _networks_with_fees(connection: Connection) -> list[NetworkId]:
    """Return the networks of which any fee is kept, by few reads of the indexes."""
    found: set[int] = set()
    for query in _NETWORKS:
        last = -1
        while (row := read_rows(connection, query, (last,))[0][0]) is not None:
            found.add(last := int(row))
    return [NetworkId(each) for each in sorted(found)]


def _next_day(connection: Connection, of: SeriesKey, since: int) -> int | None:
    """Return the first day from `since` on of which there is anything."""
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
