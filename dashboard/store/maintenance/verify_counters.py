"""Whether the tallies say what the rejections do, and how they are counted anew where not.

Hours are compared with the rejections, all else with what is one level finer, four weeks at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
)

from dashboard.store.maintenance.differences import differing
from dashboard.store.maintenance.finding import Finding, mendable, named
from dashboard.store.maintenance.rebuilder import Mender
from dashboard.store.rejections.counter_steps import STEP_LENGTHS, CounterStep
from dashboard.store.rejections.counters import MOST_MODULES, OTHERS, recomputed_counters
from dashboard.store.schema import rejection_counters, rejection_modules, rejections
from dashboard.store.schema.columns import Moment, milliseconds_of, moment_of

_PORTION: Final = STEP_LENGTHS[CounterStep.FOUR_WEEKS]
_FINEST_FIRST: Final = sorted(CounterStep, reverse=True)
_NAMES: Final = [column.name for column in rejection_counters.columns]
_STEPS: Final = {
    CounterStep.EVER: "all time",
    CounterStep.FOUR_WEEKS: "the four weeks",
    CounterStep.WEEK: "the week",
    CounterStep.DAY: "the day",
    CounterStep.HOUR: "the hour",
}


class Step(NamedTuple):
    """A step of the tallies, which begins so many milliseconds after 1970."""

    level: CounterStep
    begins_at: int


def wrong_tallies(connection: Connection) -> Iterator[Finding]:
    """Tell which tallies are wrong; a million rejections take some seconds."""
    if lacking := _lacking_modules(connection):
        names = ", ".join(lacking[:5])
        what = f"{len(lacking):,} modules are not tallied by name, such as {names}"
        yield mendable(what)
    told = (_told(level, row) for level in _FINEST_FIRST for row in _wrong(connection, level))
    yield from named(told, "tallies of rejections that do not say what is stored")


def mend_tallies(mender: Mender) -> int:
    """Count anew what is wrong, finest first; return how many steps and modules that were."""
    mended = mender.mend("modules", ["all"], _take_up)
    for level in _FINEST_FIRST:
        with mender.looking() as connection:
            found = {level.beginning(int(row.begins_at)) for row in _wrong(connection, level)}
        steps = [Step(level, begins_at) for begins_at in sorted(found)]
        mended += mender.mend("tallies", steps, _count_anew)
    return mended


def _take_up(connection: Connection, _: Sequence[str]) -> int:
    lacking = _lacking_modules(connection)
    if lacking:
        connection.execute(insert(rejection_modules), [{"module": each} for each in lacking])
    return len(lacking)


def _count_anew(connection: Connection, steps: Sequence[Step]) -> int:
    column = rejection_counters.c
    for level, begins_at in steps:
        reach = (
            [] if level is CounterStep.EVER else _reach(begins_at, begins_at + STEP_LENGTHS[level])
        )
        of_level = delete(rejection_counters).where(column.level == int(level))
        connection.execute(of_level.where(*_within(column.begins_at, reach)))
        anew = recomputed_counters(rejection_counters, level, *_of_parts(level, reach))
        connection.execute(insert(rejection_counters).from_select(_NAMES, anew))
    return len(steps)


def _lacking_modules(connection: Connection) -> list[str]:
    """Return modules that are to be tallied by name since there is room, the commonest first."""
    held = connection.scalar(select(func.count()).select_from(rejection_modules)) or 0
    module = rejections.c.module
    is_held = exists().where(rejection_modules.c.module == module)
    query = select(module).where(module.is_not(None), ~is_held).group_by(module)
    commonest = query.order_by(func.count().desc(), module)
    return list(connection.scalars(commonest.limit(max(0, MOST_MODULES - held))))


def _wrong(connection: Connection, level: CounterStep) -> Iterator[Row[Any]]:
    """Yield tallies as they are `kept`, and as they are `counted`, where these are not the same."""
    if level is CounterStep.EVER:
        yield from connection.execute(_compared(level, []))
        return
    since = 0
    while (begin := _first_after(connection, level, since)) is not None:
        since = begin + _PORTION
        yield from connection.execute(_compared(level, _reach(begin, since)))


def _first_after(connection: Connection, level: CounterStep, since: int) -> int | None:
    """Return where the first four weeks begin, from then on, that hold anything."""
    at = literal(moment_of(since), Moment)
    begins_at, seen_at = rejection_counters.c.begins_at, rejections.c.first_seen_at
    of_level = rejection_counters.c.level
    firsts = [
        select(func.min(begins_at)).where(of_level == int(each), begins_at >= at)
        for each in _FINEST_FIRST
        if each in {level, level + 1}
    ]
    if level is CounterStep.HOUR:
        firsts.append(select(func.min(seen_at)).where(seen_at >= at))
    found = [moment for moment in map(connection.scalar, firsts) if moment is not None]
    return milliseconds_of(min(found)) // _PORTION * _PORTION if found else None


def _compared(level: CounterStep, reach: Sequence[ColumnElement[Any]]) -> Select[Any]:
    column = rejection_counters.c
    held = select(rejection_counters).where(column.level == int(level))
    held = held.where(*_within(column.begins_at, reach))
    return differing(held, recomputed_counters(rejection_counters, level, *_of_parts(level, reach)))


def _of_parts(
    level: CounterStep, reach: Sequence[ColumnElement[Any]]
) -> Iterator[ColumnElement[bool]]:
    """Demand that what the tallies of a level are made of lies within a reach."""
    is_finest = level is CounterStep.HOUR
    yield from _within(
        rejections.c.first_seen_at if is_finest else rejection_counters.c.begins_at, reach
    )


def _within(
    at: ColumnElement[Any], reach: Sequence[ColumnElement[Any]]
) -> Iterator[ColumnElement[bool]]:
    if reach:
        yield at >= reach[0]
        yield at < reach[1]


def _reach(begin: int, end: int) -> list[ColumnElement[Any]]:
    return [literal(moment_of(each), Moment) for each in (begin, end)]


def _told(level: CounterStep, row: Row[Any]) -> Finding:
    step = _STEPS[level]
    if level is not CounterStep.EVER:
        step += f" from {moment_of(int(row.begins_at)):%Y-%m-%d %H:%M} on"
    named = {"": "no module", OTHERS: "any other module"}.get(row.module, row.module)
    what = f"rejections of network {row.network_id} at {row.tx_rejection_stage}"
    return mendable(
        f"the tally of {step} says {int(row.kept):,} {what}, {row.reason_kind} naming {named}, "
        f"and {int(row.counted):,} are counted"
    )
