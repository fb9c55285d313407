"""Single fees as stored: their columns, those of a period, the newest, the last before a moment.

Read as plain numbers, since they are read by the thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec import Struct
from sqlalchemy import Connection, RowMapping, select

from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.fees.busy_spells import JudgedValue
from dashboard.domain.fees.gas import (
    FeeSeries,
    FeeSuggestion,
    GasSource,
    SuggestedGasFees,
    TimedFee,
)
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.engine.driver import read_rows
from dashboard.store.schema import fee_percentiles
from dashboard.store.schema.columns import milliseconds_of, moment_of

T = TypeVar("T")

_SAME_NAMES: Final = (
    "estimated_base_fee",
    "network_congestion",
    "priority_fee_trend",
    "base_fee_trend",
    "version",
)
"""The columns of `suggestedGasFees` that are named as on the wire."""

_LEVELS: Final = ("low", "medium", "high")
_OF_LEVEL: Final = {
    "max_priority_fee": "suggested_max_priority_fee_per_gas",
    "max_fee": "suggested_max_fee_per_gas",
    "min_wait": "min_wait_time_estimate",
    "max_wait": "max_wait_time_estimate",
}
"""The end of a column's name, after that of a level, and the field of `FeeSuggestion` in it."""

_RANGES: Final = ("latest_priority_fee", "historical_priority_fee", "historical_base_fee")
"""Each has two columns: `latest_priority_fee_from` and `latest_priority_fee_to`."""


def row_of_suggested_fees(fees: SuggestedGasFees) -> dict[str, Any]:
    row = {name: getattr(fees, name) for name in _SAME_NAMES}
    for level in _LEVELS:
        suggestion = getattr(fees, level)
        row |= {f"{level}_{end}": getattr(suggestion, name) for end, name in _OF_LEVEL.items()}
    for name in _RANGES:
        row[f"{name}_from"], row[f"{name}_to"] = getattr(fees, f"{name}_range")
    return row


def suggested_fees_of_row(row: RowMapping) -> SuggestedGasFees:
    fields: dict[str, Any] = {name: row[name] for name in _SAME_NAMES}
    for level in _LEVELS:
        values = {name: row[f"{level}_{end}"] for end, name in _OF_LEVEL.items()}
        fields[level] = FeeSuggestion(**values)
    for name in _RANGES:
        fields[f"{name}_range"] = row[f"{name}_from"], row[f"{name}_to"]
    return SuggestedGasFees(**fields)


class FeePlace(NamedTuple):
    """Where fees are stored: which columns of which table; `also` narrows the rows."""

    table: str
    at: str
    fee: str
    also: str = ""

    def select(self, what: str, when: str) -> str:
        """Select from one network; in `what` and `when`, ``{0.at}`` and ``{0.fee}`` are columns."""
        query = f"SELECT {what} FROM {{0.table}} WHERE network_id = ?{{0.also}} AND {when}"  # noqa: S608 - names of ours
        return query.format(self)


PERCENTILES: Final = {
    Operation.BASE_FEE_PERCENTILE: FeeSeries.BASE_FEE_PERCENTILE,
    Operation.BUSY_THRESHOLD: FeeSeries.BUSY_THRESHOLD,
}
"""The operations that answer one percentile of base fees; the threshold is the 90th."""

_OPERATIONS: Final = {series: operation for operation, series in PERCENTILES.items()}
PLACES: Final = {
    FeeSeries.ESTIMATED_BASE_FEE: (
        FeePlace("suggested_gas_fees", "asked_at", "estimated_base_fee"),
        FeePlace("estimated_base_fees", "at", "base_fee"),
    ),
    FeeSeries.MEDIUM_MAX_PRIORITY_FEE: (
        FeePlace("suggested_gas_fees", "asked_at", "medium_max_priority_fee"),
    ),
    **{
        series: (FeePlace("fee_percentiles", "asked_at", "fee", f" AND operation = '{operation}'"),)
        for series, operation in _OPERATIONS.items()
    },
}
"""The places of each series; the second one has the fees that are only estimated."""

_QUERIES: Final = {
    series: " UNION ALL ".join(
        place.select(
            f"{{0.at}} AS at, {{0.fee}} AS fee, {-number} AS is_estimated",
            "{0.at} >= ? AND {0.at} < ?",
        )
        for number, place in enumerate(places)
    )
    + " ORDER BY at, is_estimated LIMIT ?"
    for series, places in PLACES.items()
}
_LATEST: Final = (
    "SELECT * FROM (SELECT network_id, operation, asked_at, fee, source FROM fee_percentiles "
    "WHERE network_id = ? AND operation = ? AND asked_at <= ? "
    "ORDER BY asked_at DESC LIMIT 1) AS of_{}"
)
_LAST_ASKED: Final = (
    "SELECT * FROM (SELECT network_id, asked_at FROM suggested_gas_fees "
    "WHERE network_id = ? AND asked_at <= ? ORDER BY asked_at DESC LIMIT 1) AS of_{}"
)
_FIRSTS: Final = {
    series: " UNION ALL ".join(place.select("min({0.at})", "{0.at} >= ?") for place in places)
    for series, places in PLACES.items()
}
_ALL: Final = 2**62
_BASE_FEES: Final = " UNION ALL ".join(
    place.select("{0.fee} AS fee", "{0.at} BETWEEN ? AND ?")
    for place in PLACES[FeeSeries.ESTIMATED_BASE_FEE]
)
_BOUNDS: Final = f"SELECT count(*), min(fee), max(fee) FROM ({_BASE_FEES}) AS of_time"  # noqa: S608 - names of ours

_TURNS: Final = (
    "SELECT at, fee, before_at FROM (SELECT asked_at AS at, {0} AS fee, "
    "lag(asked_at) OVER of_time AS before_at, lag({0}) OVER of_time AS fee_before, "
    "lead(asked_at) OVER of_time AS next_at FROM suggested_gas_fees "
    "WHERE network_id = ? AND asked_at >= ? AND asked_at <= ? "
    "WINDOW of_time AS (ORDER BY asked_at)) AS polled "
    "WHERE before_at IS NULL OR next_at IS NULL OR (fee {1} ?) <> (fee_before {1} ?) "
    "OR at - before_at > ? ORDER BY at"
)
_LARGEST: Final = 2**63 - 1
_PRIORITY_FEES: Final = (
    "SELECT medium_max_priority_fee FROM suggested_gas_fees "
    "WHERE network_id = ? AND asked_at BETWEEN ? AND ?"
)


class SeriesKey(NamedTuple):
    """One fee of one network."""

    network_id: NetworkId
    series: FeeSeries


def fee_values(
    connection: Connection, key: SeriesKey, since: int, until: int, limit: int = _ALL
) -> list[TimedFee]:
    """Return what was seen from `since` to before `until` (milliseconds), oldest first.

    At the same moment, an estimated value comes first.
    """
    values: list[Any] = [key.network_id, since, until] * len(PLACES[key.series])
    return [
        TimedFee(at, fee, is_estimated < 0)
        for at, fee, is_estimated in read_rows(connection, _QUERIES[key.series], [*values, limit])
    ]


class FeeBounds(NamedTuple):
    """How many fees there were, with the lowest and the highest; 0 if there were none."""

    many: int = 0
    lowest: Wei = Wei(0)
    highest: Wei = Wei(0)


NO_FEES: Final = FeeBounds()


def base_fee_bounds(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> FeeBounds:
    """Return the bounds of the base fees of a period, both ends inclusive."""
    span = (network_id, milliseconds_of(since), milliseconds_of(until))
    ((count, lowest, highest),) = read_rows(connection, _BOUNDS, span * 2)
    return FeeBounds(count, Wei(lowest), Wei(highest)) if count else NO_FEES


class PolledFee(NamedTuple):
    """A fee that a poll saw, and whether it exceeded a limit."""

    value: JudgedValue
    fee: Wei


def fees_beside_limit(
    connection: Connection,
    key: SeriesKey,
    limit: FeeMeasure,
    between: tuple[datetime, datetime],
    pause: timedelta,
) -> list[PolledFee]:
    """Return the fees of a period, both ends inclusive, at which anything changes, oldest first.

    These are the first and the last one, each on another side of a limit than the one before, and
    each more than `pause` after it. The database compares them: a month has 200,000 or more.
    """
    column = PLACES[key.series][0].fee
    since, until = map(milliseconds_of, between)
    bound = min(limit.limit, _LARGEST)
    longest = pause // timedelta(milliseconds=1)
    rows = read_rows(
        connection,
        _TURNS.format(column, ">" if limit.is_upper else "<"),
        (key.network_id, since, until, bound, bound, longest),
    )
    return [
        PolledFee(
            JudgedValue(
                moment_of(at),
                fee > bound if limit.is_upper else fee < bound,
                None if before is None else moment_of(before),
            ),
            Wei(fee),
        )
        for at, fee, before in rows
    ]


def last_asked_at(
    connection: Connection, network_ids: Sequence[NetworkId], now: datetime
) -> list[tuple[NetworkId, int]]:
    """Return when each network last had an answer with suggested fees, until now."""
    parts = (_LAST_ASKED.format(number) for number in range(len(network_ids)))
    values = [part for each in network_ids for part in (each, milliseconds_of(now))]
    found = read_rows(connection, " UNION ALL ".join(parts), values)
    return [(NetworkId(network_id), at) for network_id, at in found]


class Dated(Struct, Generic[T], frozen=True):
    """A value, when it was asked for, and who answered."""

    value: T
    asked_at: datetime
    source: GasSource = GasSource.GAS_API


def latest_percentiles(
    connection: Connection, network_ids: Sequence[NetworkId], now: datetime
) -> dict[tuple[NetworkId, Operation], Dated[Wei]]:
    """Return the last percentile and the last threshold, until now, of each network."""
    asked = [(each, operation) for each in network_ids for operation in PERCENTILES]
    parts = (_LATEST.format(number) for number in range(len(asked)))
    until = milliseconds_of(now)
    values = [part for network_id, of in asked for part in (network_id, str(of), until)]
    return {
        (NetworkId(network_id), Operation(of)): Dated(Wei(fee), moment_of(at), GasSource(source))
        for network_id, of, at, fee, source in read_rows(
            connection, " UNION ALL ".join(parts), values
        )
    }


def last_percentile_before(connection: Connection, key: SeriesKey, at: int) -> TimedFee | None:
    """Return the last percentile or threshold before a time, if it is kept."""
    values = (key.network_id, str(_OPERATIONS[key.series]), at - 1)
    for _, _, asked_at, fee, _ in read_rows(connection, _LATEST.format(0), values):
        return TimedFee(asked_at, fee)
    return None


def first_value_at(connection: Connection, key: SeriesKey, since: int = -_ALL) -> int | None:
    """Return the time of the oldest single value that is kept, from a time on."""
    values = [key.network_id, since] * len(PLACES[key.series])
    found = read_rows(connection, _FIRSTS[key.series], values)
    return min((at for (at,) in found if at is not None), default=None)


def priority_fee_window(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> RankedFees:
    """Return the medium suggested priority fees of a period, both ends inclusive."""
    span = (network_id, milliseconds_of(since), milliseconds_of(until))
    return RankedFees(fee for (fee,) in read_rows(connection, _PRIORITY_FEES, span))


def fees_answered_at(
    connection: Connection, network_id: NetworkId, now: datetime
) -> datetime | None:
    """Return when any source last answered with suggested fees.

    Anything dated after `now` is skipped: a clock that was ahead stored it.
    """
    for _, at in last_asked_at(connection, [network_id], now):
        return moment_of(at)
    return None


def percentile_answered_by_api_at(
    connection: Connection, network_id: NetworkId, now: datetime
) -> datetime | None:
    """Return when the preferred source, not a node in its place, last answered one of the two.

    Anything dated after `now` is skipped here as well.
    """
    column = fee_percentiles.c
    of_api = select(column.asked_at).where(
        column.network_id == network_id,
        column.source != GasSource.NODE_INSTEAD,
        column.asked_at <= now,
    )
    newest = of_api.order_by(column.asked_at.desc()).limit(1)  # from the end of its index
    found = [connection.scalar(newest.where(column.operation == each)) for each in PERCENTILES]
    return max((each for each in found if each is not None), default=None)
