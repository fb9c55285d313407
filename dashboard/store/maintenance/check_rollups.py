"""One hour or day of roll-ups, made anew of what it is made of and compared."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Final, NamedTuple

from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeRollup, RolledUp, RollupLevel
from dashboard.store.engine.driver import Row
from dashboard.store.fees.rollups import rollup_of_whole, row_of, rows_between
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.schema import fee_rollups

_NAMES: Final = [column.name for column in fee_rollups.columns]
_BEGIN, _SEEN, _TOTAL, _HISTOGRAM = map(_NAMES.index, ("begins_at", "seen", "total", "histogram"))


class Judged(NamedTuple):
    """A roll-up that is wrong, why, and the row that takes its place where that is known."""

    level: RollupLevel
    begins_at: int
    trouble: str
    made: Row | None


def judge_hour(connection: Connection, of: SeriesKey, hour: int) -> list[Judged]:
    """Return what is wrong of an hour's minutes, and of itself once they are right."""
    until = hour + RollupLevel.HOUR.length
    held = {
        row[_BEGIN]: row for row in rows_between(connection, of, RollupLevel.MINUTE, hour, until)
    }
    values = fee_values(connection, of, hour, until)
    stored = {
        minute: FeeRollup.of_all(some)
        for minute, some in groupby(values, lambda value: RollupLevel.MINUTE.begin_of(value.at))
    }
    rows = rows_between(connection, of, RollupLevel.HOUR, hour, until)
    judged = []
    for minute in sorted(held):
        found = _judge(of, RollupLevel.MINUTE, minute, held[minute], stored.get(minute))
        if found is not None:
            judged.append(found)
            held[minute] = found.made or held[minute]
    lacking = {minute: stored[minute] for minute in sorted(stored.keys() - held.keys())}
    if lacking and _is_owed(rows, held, lacking):
        for minute, made in lacking.items():
            held[minute] = row_of(of, RolledUp(RollupLevel.MINUTE, minute, made))
            judged.append(Judged(RollupLevel.MINUTE, minute, "it is not there", held[minute]))
    return [*judged, *_judge_whole(of, (RollupLevel.HOUR, hour), rows, held)]


def judge_day(connection: Connection, of: SeriesKey, day: int) -> list[Judged]:
    """Return what is wrong of a day, once its hours are right; these are kept for good."""
    until = day + RollupLevel.DAY.length
    hours = {row[_BEGIN]: row for row in rows_between(connection, of, RollupLevel.HOUR, day, until)}
    for hour, row in hours.items():
        if _contradiction(RollupLevel.HOUR, row, _rollup(row)) is not None:
            for each in judge_hour(connection, of, hour):
                if each.level is RollupLevel.HOUR and each.made is not None:
                    hours[hour] = each.made
    rows = rows_between(connection, of, RollupLevel.DAY, day, until)
    found = _judge_whole(of, (RollupLevel.DAY, day), rows, hours)
    if rows and not found and sum(row[_SEEN] for row in hours.values()) != rows[0][_SEEN]:
        return [Judged(RollupLevel.DAY, day, "hours of it are not there", None)]
    return found


def _is_owed(rows: list[Row], held: Mapping[int, Row], lacking: Mapping[int, FeeRollup]) -> bool:
    """Whether minutes that are not there were never forgotten: nothing else of the hour is."""
    if not rows:
        return True
    kept = sum(row[_SEEN] for row in held.values())
    came = sum(each.seen for each in lacking.values())
    return rows[0][_SEEN] in {kept, kept + came}


def _judge_whole(
    of: SeriesKey, which: tuple[RollupLevel, int], rows: list[Row], held: Mapping[int, Row]
) -> list[Judged]:
    parts = [_rollup(held[each]) for each in sorted(held)]
    readable = [each for each in parts if each is not None]
    made = FeeRollup.of_parts(readable) if readable and len(readable) == len(parts) else None
    level, begins_at = which
    if not rows:
        if made is None:
            return []
        row = row_of(of, RolledUp(level, begins_at, made))
        return [Judged(level, begins_at, "it is not there", row)]
    found = [_judge(of, level, row[_BEGIN], row, made) for row in rows]
    return [each for each in found if each is not None]


def _judge(
    of: SeriesKey, level: RollupLevel, begins_at: int, held: Row, made: FeeRollup | None
) -> Judged | None:
    """Judge a row by what is left of its parts; they are all of them where they are as many."""
    rollup = _rollup(held)
    again = None if rollup is None else row_of(of, RolledUp(level, begins_at, rollup))
    trouble = _contradiction(level, held, rollup)
    if made is not None and begins_at % level.length == 0:
        counted = held[_SEEN] if trouble is None else min(held[_SEEN], _counted(rollup))
        row = row_of(of, RolledUp(level, begins_at, made))
        if made.seen >= counted:
            return None if row == held else Judged(level, begins_at, _difference(held, row), row)
        if trouble is None and rollup is not None and not _holds(rollup, made):
            trouble = "it does not hold all that it is made of"
    if trouble is not None:
        return Judged(level, begins_at, trouble, None)
    if again != held:
        return Judged(level, begins_at, "its percentiles are not those of its histogram", again)
    return None


def _contradiction(level: RollupLevel, held: Row, rollup: FeeRollup | None) -> str | None:
    """Say how a row contradicts itself, if it does."""
    if rollup is None:
        return "its histogram cannot be read"
    if _counted(rollup) != rollup.seen:
        return f"its histogram holds {_counted(rollup):,} values and it says {rollup.seen:,}"
    begins_at = held[_BEGIN]
    holds = {
        "its times lie outside of it": (
            begins_at <= rollup.first_at <= rollup.last_at < begins_at + level.length
        ),
        "its last value lies outside of the lowest and the highest": (
            rollup.lowest <= rollup.last <= rollup.highest
        ),
        "its sum cannot be that of so many values": (
            rollup.lowest * rollup.seen <= rollup.total <= rollup.highest * rollup.seen
        ),
        "more are estimated than were seen": 0 <= rollup.estimated <= rollup.seen,
        "a gap is shorter than nothing": rollup.longest_gap >= 0,
        f"no {level.name.lower()} begins then": begins_at % level.length == 0,
    }
    return next((trouble for trouble, is_right in holds.items() if not is_right), None)


def _holds(rollup: FeeRollup, part: FeeRollup) -> bool:
    """Whether a roll-up can be that of some values and of more."""
    return (
        rollup.first_at <= part.first_at
        and part.last_at <= rollup.last_at
        and rollup.lowest <= part.lowest
        and part.highest <= rollup.highest
        and part.total <= rollup.total
        and rollup.histogram.holds(part.histogram)
    )


def _difference(held: Row, made: Row) -> str:
    """Say what a row says, and what it is made of."""
    said = []
    for name, here, there in zip(_NAMES, held, made, strict=True):
        if here == there or name in {"median", "p90"}:
            continue
        if name == "histogram":
            said.append("another histogram")
        else:
            told = [
                int.from_bytes(each, "big") if name == "total" else each for each in (here, there)
            ]
            said.append(f"{name} {told[0]} instead of {told[1]}")
    return f"it says {', '.join(said) or 'other percentiles'}, by what it is made of"


def _counted(rollup: FeeRollup | None) -> int:
    return 0 if rollup is None else rollup.histogram.count


def _rollup(row: Row) -> FeeRollup | None:
    try:
        return rollup_of_whole(row)
    except ValueError:
        return None
