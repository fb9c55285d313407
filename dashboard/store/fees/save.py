"""Save the fees of one poll: of each moment the one from the better source stays."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Table, select

from dashboard.domain.fee_rollup import FeeSeries, TimedFee
from dashboard.domain.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.observation import GasObservation, GasSource, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.engine.driver import read_rows
from dashboard.store.engine.upsert import insert_new, put
from dashboard.store.fees.rollups import SavedFee, SavedFees, last_before
from dashboard.store.fees.stored_fees import SeriesKey, fee_values, last_percentile_before
from dashboard.store.schema import fee_marks, suggested_gas_fees
from dashboard.store.schema.columns import milliseconds_of

SUGGESTED: Final = (
    FeeSeries.ESTIMATED_BASE_FEE,
    FeeSeries.MEDIUM_MAX_PRIORITY_FEE,
    FeeSeries.IS_BUSY,
)
"""What is rolled up of `suggestedGasFees`; each stands in the column of its name."""

ESTIMATED: Final = (FeeSeries.ESTIMATED_BASE_FEE, FeeSeries.IS_BUSY)
"""What is rolled up of an estimated base fee."""

_FORGET_ESTIMATE: Final = (
    "DELETE FROM estimated_base_fees WHERE network_id = ? AND at = ? RETURNING base_fee, is_busy"
)

PERCENTILES: Final = {
    Operation.BASE_FEE_PERCENTILE: FeeSeries.BASE_FEE_PERCENTILE,
    Operation.BUSY_THRESHOLD: FeeSeries.BUSY_THRESHOLD,
}


_AS_THEY_ARE: Final = (
    "estimated_base_fee",
    "network_congestion",
    "priority_fee_trend",
    "base_fee_trend",
    "version",
)


def save_suggested_fees(
    connection: Connection, observation: GasObservation, arrivals: SavedFees
) -> None:
    """Keep the suggested fees of an observation, if any; add what that is for roll-ups.

    Its threshold must be kept already: the base fee is judged by it.
    """
    row = suggested_row(observation)
    if row is None:
        return
    network_id, at = observation.network_id, milliseconds_of(observation.asked_at)
    [row["is_busy"]] = judge_busy(connection, network_id, [(at, row["estimated_base_fee"])])
    is_kept, held = _keep(connection, suggested_gas_fees, row)
    if not is_kept:
        return
    if held is None:
        replaced = _forget_estimate(connection, network_id, at)
    else:
        replaced = {series: TimedFee(at, fee) for series, fee in rolled_up_of(held)}
    for series, fee in rolled_up_of(row):
        arrivals[series].append(SavedFee(TimedFee(at, fee), replaced.get(series)))


def rolled_up_of(row: Mapping[str, Any] | RowMapping) -> Iterator[tuple[FeeSeries, Wei]]:
    """Yield what a row of suggested fees tells of each series; one may not have been judged."""
    for series in SUGGESTED:
        fee = row[series.name.lower()]
        if fee is not None:
            yield series, fee


def save_percentiles(
    connection: Connection, observation: GasObservation, arrivals: SavedFees
) -> None:
    """Keep percentile and threshold of an observation, if any; add what that is for roll-ups."""
    at = milliseconds_of(observation.asked_at)
    for operation, row in percentile_rows(observation):
        is_kept, held = _keep(connection, fee_marks, row)
        if is_kept:
            replaced = None if held is None else TimedFee(at, held["fee"])
            arrivals[PERCENTILES[operation]].append(SavedFee(TimedFee(at, row["fee"]), replaced))


def suggested_row(observation: GasObservation) -> dict[str, Any] | None:
    """Lay the suggested fees of an observation out as a row."""
    if observation.suggested_gas_fees is None:
        return None
    return {
        "network_id": observation.network_id,
        "asked_at": observation.asked_at,
        "source": observation.source_of(Operation.SUGGESTED_GAS_FEES),
        **row_of_suggested_fees(observation.suggested_gas_fees),
    }


def percentile_rows(observation: GasObservation) -> Iterator[tuple[Operation, dict[str, Any]]]:
    """Lay percentile and threshold of an observation out as rows."""
    marks: dict[Operation, Wei | None] = {
        Operation.BASE_FEE_PERCENTILE: observation.base_fee_percentile,
        Operation.BUSY_THRESHOLD: observation.busy_threshold,
    }
    for operation, fee in marks.items():
        if fee is not None:
            yield (
                operation,
                {
                    "network_id": observation.network_id,
                    "operation": operation,
                    "asked_at": observation.asked_at,
                    "fee": fee,
                    "source": observation.source_of(operation),
                },
            )


def _keep(
    connection: Connection, table: Table, row: Mapping[str, Any]
) -> tuple[bool, RowMapping | None]:
    """Insert a row, or put it in the place of one from a worse source; say whether, and which."""
    if insert_new(connection, table, row):
        return True, None
    same = (column == row[column.name] for column in table.primary_key)
    held = connection.execute(select(table).where(*same)).mappings().one()
    if not GasSource(row["source"]).is_better_than(GasSource(held["source"])):
        return False, held
    put(connection, table, [row])
    return True, held


def _forget_estimate(
    connection: Connection, network_id: NetworkId, at: int
) -> dict[FeeSeries, TimedFee]:
    """Forget the base fee that was only estimated to be of this moment; return what it told."""
    for values in read_rows(connection, _FORGET_ESTIMATE, (network_id, at)):
        return {
            series: TimedFee(at, value, is_estimated=True)
            for series, value in zip(ESTIMATED, values, strict=True)
            if value is not None
        }
    return {}


def judge_busy(
    connection: Connection, network_id: NetworkId, base_fees: Sequence[tuple[int, Wei]]
) -> list[int | None]:
    """Return 1 for each base fee above its threshold and 0 for the others, by time (milliseconds).

    The threshold is the last one at or before it, which must be stored already; None where none
    is known.
    """
    if not base_fees:
        return []
    of = SeriesKey(network_id, FeeSeries.BUSY_THRESHOLD)
    times = [at for at, _ in base_fees]
    first, last = min(times) + 1, max(times) + 1
    thresholds = [] if first == last else fee_values(connection, of, first, last)
    before = _last_before(connection, of, first)
    if before is not None:
        thresholds.insert(0, before)
    since = [each.at for each in thresholds]
    places = (bisect_right(since, at) - 1 for at in times)
    return [
        int(fee > thresholds[place].fee) if place >= 0 else None
        for place, (_, fee) in zip(places, base_fees, strict=True)
    ]


def _last_before(connection: Connection, of: SeriesKey, at: int) -> TimedFee | None:
    """Return the last threshold from before a time; roll-ups know those that are kept no longer."""
    found = last_percentile_before(connection, of, at)
    return last_before(connection, of, at) if found is None else found


def row_of_suggested_fees(fees: SuggestedGasFees) -> dict[str, Any]:
    """Lay the values out as columns."""
    row = {name: getattr(fees, name) for name in _AS_THEY_ARE}
    for level, suggestion in (("low", fees.low), ("medium", fees.medium), ("high", fees.high)):
        row |= {
            f"{level}_max_priority_fee": suggestion.suggested_max_priority_fee_per_gas,
            f"{level}_max_fee": suggestion.suggested_max_fee_per_gas,
            f"{level}_min_wait": suggestion.min_wait_time_estimate,
            f"{level}_max_wait": suggestion.max_wait_time_estimate,
        }
    for name, (smallest, largest) in (
        ("latest_priority_fee", fees.latest_priority_fee_range),
        ("historical_priority_fee", fees.historical_priority_fee_range),
        ("historical_base_fee", fees.historical_base_fee_range),
    ):
        row |= {f"{name}_from": smallest, f"{name}_to": largest}
    return row


def suggested_fees_of_row(row: RowMapping) -> SuggestedGasFees:
    """Read the columns back."""
    return SuggestedGasFees(
        low=_suggestion(row, "low"),
        medium=_suggestion(row, "medium"),
        high=_suggestion(row, "high"),
        latest_priority_fee_range=_range(row, "latest_priority_fee"),
        historical_priority_fee_range=_range(row, "historical_priority_fee"),
        historical_base_fee_range=_range(row, "historical_base_fee"),
        **{name: row[name] for name in _AS_THEY_ARE},
    )


def _suggestion(row: RowMapping, level: str) -> FeeSuggestion:
    return FeeSuggestion(
        row[f"{level}_max_priority_fee"],
        row[f"{level}_max_fee"],
        row[f"{level}_min_wait"],
        row[f"{level}_max_wait"],
    )


def _range(row: RowMapping, name: str) -> tuple[Any, Any]:
    return row[f"{name}_from"], row[f"{name}_to"]
