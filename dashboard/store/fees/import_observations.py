"""Histories put into a store at once: many observations in few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, func, insert, or_, select

from dashboard.domain.fee_rollup import MINUTE, FeeSeries, Level, SeenFee
from dashboard.domain.observation import GasObservation, GasSource
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.leases import next_token
from dashboard.store.fees.busy_fees import judge
from dashboard.store.fees.ingest import MARKS, mark_rows, rolled_up_of, suggested_row
from dashboard.store.fees.rollup_rows import begins_between
from dashboard.store.fees.rollups import Arrival, roll_up_arrivals
from dashboard.store.fees.values import SeriesOf
from dashboard.store.schema import (
    estimated_base_fees,
    fee_marks,
    fee_rollups,
    rejections,
    suggested_gas_fees,
    watched_cohorts,
)
from dashboard.store.schema.columns import milliseconds_of, moment_of


def keep_gas_history(connection: Connection, observations: Sequence[GasObservation]) -> None:
    """Keep suggested fees, percentiles and thresholds; what is known already stays as it is.

    A minute is known as well of which only the roll-up is kept. Unlike what a poll saw just now
    they say nothing of who answers at present. A worker that holds fees in memory reads them anew.
    """
    next_token(connection)
    for network_id in sorted({each.network_id for each in observations}):
        of_network = [each for each in observations if each.network_id == network_id]
        arrivals = defaultdict[FeeSeries, list[Arrival]](list)
        marks = [mark for each in of_network for mark in mark_rows(each)]
        for operation, series in MARKS.items():
            rows = [row for of_operation, row in marks if of_operation is operation]
            of_mark = SeriesOf(network_id, series)
            for at, row in _insert_unknown(connection, of_mark, fee_marks, rows).items():
                arrivals[series].append(Arrival(SeenFee(at, row["fee"])))
        fees = _beside_estimates(connection, network_id, of_network)
        of_medium = SeriesOf(network_id, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)
        for at, row in _insert_unknown(connection, of_medium, suggested_gas_fees, fees).items():
            for series, fee in rolled_up_of(row):
                arrivals[series].append(Arrival(SeenFee(at, fee)))
        roll_up_arrivals(connection, network_id, arrivals)


def _beside_estimates(
    connection: Connection, network_id: NetworkId, observations: Sequence[GasObservation]
) -> list[dict[str, Any]]:
    """Return the rows, judged, of suggested fees of whose time no base fee was estimated."""
    rows = [row for row in map(suggested_row, observations) if row is not None]
    times = [row["asked_at"] for row in rows]
    if not times:
        return []
    at = estimated_base_fees.c.at
    query = select(at).where(
        estimated_base_fees.c.network_id == network_id, at.between(min(times), max(times))
    )
    estimated = set(map(milliseconds_of, connection.scalars(query)))
    rows = [row for row in rows if milliseconds_of(row["asked_at"]) not in estimated]
    fees = [(milliseconds_of(row["asked_at"]), row["estimated_base_fee"]) for row in rows]
    for row, is_busy in zip(rows, judge(connection, network_id, fees), strict=True):
        row["is_busy"] = is_busy
    return rows


def _insert_unknown(
    connection: Connection, of: SeriesOf, table: Table, rows: Sequence[dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Insert those rows, all of one series, of whose time nothing is known; return them."""
    if not rows:
        return {}
    asked_at = table.c.asked_at
    times = [milliseconds_of(row["asked_at"]) for row in rows]
    since = moment_of(Level.MINUTE.begin_of(min(times)))
    until = moment_of(Level.MINUTE.begin_of(max(times)) + MINUTE - 1)
    alike = [
        column == rows[0][column.name] for column in table.primary_key if column is not asked_at
    ]
    query = select(asked_at).where(*alike, asked_at.between(since, until))
    known = set(map(milliseconds_of, connection.scalars(query)))
    by_time = {milliseconds_of(row["asked_at"]): row for row in reversed(rows)}
    forgotten = _forgotten(connection, of, by_time, known)
    unknown = {at: by_time[at] for at in sorted(by_time.keys() - known - forgotten)}
    if unknown:
        connection.execute(insert(table), list(unknown.values()))
    return unknown


def _forgotten(
    connection: Connection, of: SeriesOf, times: Collection[int], known: Iterable[int]
) -> set[int]:
    """Return those of the times that lie in a minute or hour of which only roll-ups are kept."""
    since, until = (
        Level.HOUR.begin_of(min(times)),
        Level.HOUR.begin_of(max(times)) + Level.HOUR.length,
    )
    minutes, hours = (
        set(begins_between(connection, of, level, since, until))
        for level in (Level.MINUTE, Level.HOUR)
    )
    hours -= {Level.HOUR.begin_of(minute) for minute in minutes}
    minutes -= {Level.MINUTE.begin_of(at) for at in known}
    return {
        at
        for at in times
        if Level.MINUTE.begin_of(at) in minutes or Level.HOUR.begin_of(at) in hours
    }


def first_observed_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return when fees of a network were told first, those that were made up left out."""
    seen = suggested_gas_fees.c
    query = select(func.min(seen.asked_at)).where(
        seen.network_id == network_id, seen.source != GasSource.DEMO_HISTORY
    )
    first: datetime | None = connection.scalar(query)
    return first


def other_networks(connection: Connection, known: Sequence[NetworkId]) -> list[NetworkId]:
    """Return one network, at most, of each kind of data that the store holds of others.

    `known` are consecutive, the first one first.
    """
    others: set[NetworkId] = set()
    for table in (suggested_gas_fees, fee_rollups, rejections, watched_cohorts):
        of_row = table.c.network_id
        is_other = or_(of_row < known[0], of_row > known[-1])  # two ranges of an index
        others.update(connection.scalars(select(of_row).where(is_other).limit(1)))
    return sorted(others)
