"""Roll-ups of fees as rows: written, and read back with their histograms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from dashboard.domain.fee_histogram import FeeHistogram
from dashboard.domain.fee_rollup import FeeRollup, FeeSeries, Level, RolledUp
from dashboard.domain.quantity import NetworkId
from dashboard.store.schema import fee_rollups
from dashboard.store.upsert import put

_C = fee_rollups.c


class SeriesOf(NamedTuple):
    """One fee of one network."""

    network_id: NetworkId
    series: FeeSeries

    def at(self, level: Level) -> ColumnElement[bool]:
        """Select its roll-ups of one level."""
        return and_(_C.network_id == self.network_id, _C.series == self.series, _C.level == level)


def keep_rollups(connection: Connection, of: SeriesOf, rolled_up: Iterable[RolledUp]) -> None:
    """Write roll-ups, each in the place of the one that covers the same time."""
    put(connection, fee_rollups, [row_of(of, each) for each in rolled_up])


def rollups_between(
    connection: Connection, of: SeriesOf, level: Level, since: int, until: int
) -> dict[int, FeeRollup]:
    """Return the roll-ups that begin at or after `since` and before `until`, oldest first."""
    query = select(_C.level, _C.begins_at, *_VALUES)
    here = query.where(of.at(level), _C.begins_at >= since, _C.begins_at < until)
    rows = connection.execute(here.order_by(_C.begins_at))
    return {row.begins_at: _rollup_of(row) for row in rows}


def begins_between(
    connection: Connection, of: SeriesOf, level: Level, since: int, until: int
) -> list[int]:
    """Return when roll-ups begin that begin at or after `since` and before `until`."""
    query = select(_C.begins_at).where(of.at(level), _C.begins_at >= since, _C.begins_at < until)
    return list(connection.scalars(query.order_by(_C.begins_at)))


def rollups_at(connection: Connection, of: SeriesOf, at: int) -> dict[Level, FeeRollup]:
    """Return the roll-ups that cover a time, at each level that has one."""
    covering = (and_(_C.level == level, _C.begins_at == level.begin_of(at)) for level in Level)
    query = select(_C.level, _C.begins_at, *_VALUES).where(
        _C.network_id == of.network_id, _C.series == of.series, or_(*covering)
    )
    return {Level(row.level): _rollup_of(row) for row in connection.execute(query)}


def row_of(of: SeriesOf, rolled_up: RolledUp) -> dict[str, Any]:
    """Lay a roll-up out as a row."""
    level, begins_at, rollup = rolled_up
    median, p90 = rollup.percentiles(50, 90)
    return {
        "network_id": of.network_id,
        "series": of.series,
        "level": level,
        "begins_at": begins_at,
        "first_at": rollup.first_at,
        "last_at": rollup.last_at,
        "lowest": rollup.lowest,
        "highest": rollup.highest,
        "total": rollup.total,
        "seen": rollup.seen,
        "estimated": rollup.estimated,
        "median": median,
        "p90": p90,
        "last": rollup.last,
        "longest_gap": rollup.longest_gap,
        "histogram": rollup.histogram.encode(),
    }


_VALUES = (
    _C.first_at,
    _C.last_at,
    _C.lowest,
    _C.highest,
    _C.total,
    _C.seen,
    _C.estimated,
    _C.last,
    _C.longest_gap,
    _C.histogram,
)


def _rollup_of(row: Any) -> FeeRollup:  # noqa: ANN401 - a row of many columns
    return FeeRollup(*(*row[2:-1], FeeHistogram.decode(row[-1])))
