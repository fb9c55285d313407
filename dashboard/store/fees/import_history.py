"""Import a history of fees at once: as observations, or years of it directly as roll-ups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection, Table, func, insert, or_, select

from dashboard.domain.fees.gas import (
    MINUTE,
    FeeSeries,
    GasObservation,
    GasSource,
    RollupLevel,
    SavedFee,
    TimedFee,
)
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import insert_many
from dashboard.store.engine.leases import next_token
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.rollup_arrays import RollupArrays
from dashboard.store.fees.rollups import rollup_begins_between, update_rollups
from dashboard.store.fees.save import percentile_rows, rolled_up_of, suggested_row
from dashboard.store.fees.stored_fees import PERCENTILES, SeriesKey
from dashboard.store.schema import (
    estimated_base_fees,
    fee_percentiles,
    fee_rollups,
    rejections,
    suggested_gas_fees,
    watched_cohorts,
)
from dashboard.store.schema.columns import milliseconds_of, moment_of

_DAYS_AT_ONCE: Final = 16


def import_gas_history(connection: Connection, observations: Sequence[GasObservation]) -> None:
    """Save suggested fees, percentiles and thresholds; known ones do not change.

    A minute is also known if only its roll-up is kept. Unlike a poll, these fees do not say which
    source answers at present. A worker that holds fees in memory reads them again.
    """
    next_token(connection)
    for network_id in sorted({each.network_id for each in observations}):
        of_network = [each for each in observations if each.network_id == network_id]
        saved = defaultdict[FeeSeries, list[SavedFee]](list)
        percentiles = [found for each in of_network for found in percentile_rows(each)]
        for operation, series in PERCENTILES.items():
            rows = [row for of_operation, row in percentiles if of_operation is operation]
            of_mark = SeriesKey(network_id, series)
            for at, row in _insert_missing(connection, of_mark, fee_percentiles, rows).items():
                saved[series].append(SavedFee(TimedFee(at, row["fee"])))
        fees = _rows_without_estimates(connection, network_id, of_network)
        of_medium = SeriesKey(network_id, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)
        for at, row in _insert_missing(connection, of_medium, suggested_gas_fees, fees).items():
            for series, fee in rolled_up_of(row):
                saved[series].append(SavedFee(TimedFee(at, fee)))
        update_rollups(connection, network_id, saved)


def _rows_without_estimates(
    connection: Connection, network_id: NetworkId, observations: Sequence[GasObservation]
) -> list[dict[str, Any]]:
    """Return the rows of suggested fees at whose time no base fee was estimated."""
    rows = [row for row in map(suggested_row, observations) if row is not None]
    times = [row["asked_at"] for row in rows]
    if not times:
        return []
    at = estimated_base_fees.c.at
    query = select(at).where(
        estimated_base_fees.c.network_id == network_id, at.between(min(times), max(times))
    )
    estimated = set(map(milliseconds_of, connection.scalars(query)))
    return [row for row in rows if milliseconds_of(row["asked_at"]) not in estimated]


def _insert_missing(
    connection: Connection, key: SeriesKey, table: Table, rows: Sequence[dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Insert the rows, all of one series, at whose time nothing is known; return them."""
    if not rows:
        return {}
    asked_at = table.c.asked_at
    times = [milliseconds_of(row["asked_at"]) for row in rows]
    since = moment_of(RollupLevel.MINUTE.begin_of(min(times)))
    until = moment_of(RollupLevel.MINUTE.begin_of(max(times)) + MINUTE - 1)
    alike = [
        column == rows[0][column.name] for column in table.primary_key if column is not asked_at
    ]
    query = select(asked_at).where(*alike, asked_at.between(since, until))
    known = set(map(milliseconds_of, connection.scalars(query)))
    by_time = {milliseconds_of(row["asked_at"]): row for row in reversed(rows)}
    purged = _purged_times(connection, key, by_time, known)
    unknown = {at: by_time[at] for at in sorted(by_time.keys() - known - purged)}
    if unknown:
        connection.execute(insert(table), list(unknown.values()))
    return unknown


def _purged_times(
    connection: Connection, key: SeriesKey, times: Collection[int], known: Iterable[int]
) -> set[int]:
    """Return the times that lie in a minute or hour of which only roll-ups are kept."""
    since, until = (
        RollupLevel.HOUR.begin_of(min(times)),
        RollupLevel.HOUR.begin_of(max(times)) + RollupLevel.HOUR.length,
    )
    minutes, hours = (
        set(rollup_begins_between(connection, key, level, since, until))
        for level in (RollupLevel.MINUTE, RollupLevel.HOUR)
    )
    hours -= {RollupLevel.HOUR.begin_of(minute) for minute in minutes}
    minutes -= {RollupLevel.MINUTE.begin_of(at) for at in known}
    return {
        at
        for at in times
        if RollupLevel.MINUTE.begin_of(at) in minutes or RollupLevel.HOUR.begin_of(at) in hours
    }


def first_observed_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return when fees of a network were first answered, not counting a demo history."""
    seen = suggested_gas_fees.c
    query = select(func.min(seen.asked_at)).where(
        seen.network_id == network_id, seen.source != GasSource.DEMO_HISTORY
    )
    first: datetime | None = connection.scalar(query)
    return first


def other_networks(connection: Connection, known: Sequence[NetworkId]) -> list[NetworkId]:
    """Return at most one other network for each kind of data that the store has of one.

    `known` are consecutive, the first one first.
    """
    others: set[NetworkId] = set()
    for table in (suggested_gas_fees, fee_rollups, rejections, watched_cohorts):
        of_row = table.c.network_id
        is_other = or_(of_row < known[0], of_row > known[-1])  # two ranges of an index
        others.update(connection.scalars(select(of_row).where(is_other).limit(1)))
    return sorted(others)


def import_fee_years(
    connection: Connection, network_id: NetworkId, series: FeeSeries, at: Integers, fees: Integers
) -> None:
    """Roll up whole days of fees (wei) by time (milliseconds since the epoch, ascending).

    A day with any known fee does not change, so importing the same days again changes nothing.
    ValueError if times do not ascend or a fee is negative.
    """
    if len(at) != len(fees) or (np.diff(at) <= 0).any() or (fees < 0).any():
        raise ValueError("a history has as many fees as times, which ascend, and none below zero")
    key = SeriesKey(network_id, series)
    for begin, end in _missing_days(connection, key, at):
        rollups = RollupArrays.of_values(at[begin:end], fees[begin:end])
        for level in RollupLevel:
            rollups = rollups.rolled_up(level.length)
            insert_many(connection, fee_rollups, rollups.rows(network_id, series, level))


def _missing_days(
    connection: Connection, key: SeriesKey, at: Integers
) -> Iterator[tuple[int, int]]:
    """Yield begin and end, within `at`, of stretches of unknown days, a few days at a time."""
    if not len(at):
        return
    begins = at - at % RollupLevel.DAY.length
    starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
    days = begins[starts]
    known = rollup_begins_between(connection, key, RollupLevel.DAY, int(days[0]), int(days[-1]) + 1)
    is_known = np.isin(days, known)
    cuts = np.flatnonzero(np.diff(is_known, prepend=not is_known[0]))
    for first, last in zip(cuts, [*cuts[1:], len(days)], strict=True):
        for some in range(first, last if not is_known[first] else first, _DAYS_AT_ONCE):
            after = min(some + _DAYS_AT_ONCE, last)
            yield int(starts[some]), int(starts[after]) if after < len(days) else len(at)
