"""Whether the roll-ups of fees say what they are made of, and how they are made anew of that.

All of them are looked at as arrays, some days at a time; those that may be wrong are then made anew
one by one, and compared. Where what a roll-up was made of is kept no longer, or in part, it has
to agree with itself and with that part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeSeries, RollupLevel
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import Row, read_rows
from dashboard.store.fees.rollup_arrays import FeeArrays, RollupArrays
from dashboard.store.fees.rollups import first_begin_after, rows_between, write_rows_of_rollups
from dashboard.store.fees.stored_fees import SeriesKey, fee_values, first_value_at
from dashboard.store.maintenance.check_rollups import Judged, judge_day, judge_hour
from dashboard.store.maintenance.finding import RESTORE, Finding, mendable, named
from dashboard.store.maintenance.rebuilder import Mender
from dashboard.store.schema.columns import moment_of

_DAYS_AT_ONCE: Final = 4
_DAY: Final = RollupLevel.DAY.length
_NETWORKS: Final = tuple(
    f"SELECT min(network_id) FROM {table} WHERE network_id > ?"  # noqa: S608 - names of ours
    for table in ("fee_rollups", "suggested_gas_fees", "estimated_base_fees", "fee_marks")
)
_BEFORE_ALL: Final = -(2**63)


class Suspect(NamedTuple):
    """An hour with its minutes, or a day, that may be wrong."""

    of: SeriesKey
    level: RollupLevel
    begins_at: int


def wrong_rollups(connection: Connection) -> Iterator[Finding]:
    """Tell which roll-ups are wrong; a year of a network that is polled each second takes 20 s."""
    found = (
        (suspect, judged)
        for suspect in suspects(connection)
        for judged in _judge(connection, suspect)
    )
    told = (_told(suspect.of, judged) for suspect, judged in found)
    yield from named(told, "roll-ups of fees that do not say what they are made of")


def mend_rollups(mender: Mender) -> int:
    """Make anew what can be, finest first; return how many roll-ups that were."""
    with mender.looking() as connection:
        first = list(suspects(connection))
    hours = [each for each in first if each.level is RollupLevel.HOUR]
    days = {each._replace(level=RollupLevel.DAY, begins_at=_begin_of_day(each)) for each in first}
    return sum(mender.mend("roll-ups", some, _mend) for some in (hours, sorted(days)))


def _mend(connection: Connection, suspected: Sequence[Suspect]) -> int:
    mended = 0
    for suspect in suspected:
        judged = _judge(connection, suspect)
        rows = [each.made for each in judged if each.made is not None]
        write_rows_of_rollups(connection, rows)
        mended += len(rows)
    return mended


def suspects(connection: Connection) -> Iterator[Suspect]:
    """Yield what may be wrong, each once, in order of time within a series."""
    for network_id in networks_with_fees(connection):
        for series in FeeSeries:
            of = SeriesKey(network_id, series)
            until = _BEFORE_ALL
            while (since := _next_day(connection, of, until)) is not None:
                until = since + _DAYS_AT_ONCE * _DAY
                yield from _suspects_between(connection, of, since, until)


def networks_with_fees(connection: Connection) -> list[NetworkId]:
    """Return the networks of which any fee is kept, by few looks into the indexes."""
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
    return min(
        (RollupLevel.DAY.begin_of(each) for each in begins if each is not None), default=None
    )


def _suspects_between(
    connection: Connection, of: SeriesKey, since: int, until: int
) -> Iterator[Suspect]:
    parts = _values_rolled_up(connection, of, since, until)
    for level in RollupLevel:
        held = _arrays(level, rows_between(connection, of, level, since, until))
        suspected = _suspected(level, held, parts)
        unit = RollupLevel.HOUR if level is RollupLevel.MINUTE else level
        for begins_at in sorted({unit.begin_of(each) for each in suspected}):
            yield Suspect(of, unit, begins_at)
        parts = held


def _suspected(
    level: RollupLevel, held: RollupArrays | None, parts: RollupArrays | None
) -> list[int]:
    if held is None:
        begins = [] if parts is None else parts.rolled_up(level).begins.tolist()
        return [int(each) for each in begins]
    unlike = held.unlike(parts, keeps_all=level is RollupLevel.DAY)
    return [*held.odd().tolist(), *unlike.tolist()]


def _values_rolled_up(
    connection: Connection, of: SeriesKey, since: int, until: int
) -> RollupArrays | None:
    values = fee_values(connection, of, since, until)
    if not values:
        return None
    at, fees, guessed = np.array(values, np.int64).T
    rows = FeeArrays(at, fees).rows(of.network_id, of.series, RollupLevel.MINUTE)
    made = RollupArrays(RollupLevel.MINUTE, rows)
    starts = np.flatnonzero(np.diff(at - at % RollupLevel.MINUTE.length, prepend=-1))
    made.estimated = np.add.reduceat(guessed, starts)
    return made


def _arrays(level: RollupLevel, rows: list[Row]) -> RollupArrays | None:
    return RollupArrays(level, rows) if rows else None


def _judge(connection: Connection, suspect: Suspect) -> list[Judged]:
    judge = judge_hour if suspect.level is RollupLevel.HOUR else judge_day
    return judge(connection, suspect.of, suspect.begins_at)


def _begin_of_day(suspect: Suspect) -> int:
    return RollupLevel.DAY.begin_of(suspect.begins_at)


def _told(of: SeriesKey, judged: Judged) -> Finding:
    name, fee = judged.level.name.lower(), of.series.name.lower()
    what = (
        f"the {fee} of network {of.network_id} in the {name} from "
        f"{moment_of(judged.begins_at):%Y-%m-%d %H:%M} on: {judged.trouble}"
    )
    return Finding(what, RESTORE) if judged.made is None else mendable(what)
