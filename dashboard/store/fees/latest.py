"""Read the gas of a network: the latest answers, and which source gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from sqlalchemy import Connection, and_, or_, select

from dashboard.domain.fees.gas import GasSource, SuggestedGasFees
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.fees.stored_fees import (
    NO_FEES,
    PERCENTILES,
    Dated,
    FeeBounds,
    base_fee_bounds,
    last_asked_at,
    latest_percentiles,
    suggested_fees_of_row,
)
from dashboard.store.monitoring.answer_counts import StandingFailure, standing_failures_of
from dashboard.store.schema import base_fee_histories, suggested_gas_fees
from dashboard.store.schema.columns import moment_of


class LatestGas(Struct, frozen=True):
    """The last answer to each question, None if there never was one, and what fails now.

    `recent` are the bounds of the base fees of a period that ends with the last answer.
    """

    suggested_gas_fees: Dated[SuggestedGasFees] | None = None
    base_fee_history: Dated[tuple[Wei, ...]] | None = None
    base_fee_percentile: Dated[Wei] | None = None
    busy_threshold: Dated[Wei] | None = None
    failures: tuple[StandingFailure, ...] = ()
    recent: FeeBounds = NO_FEES

    @property
    def answered_by_first_source_at(self) -> datetime | None:
        """When the first source asked, not a node in its place, last answered about present fees.

        Outages are decided by the same answers.
        """
        fees = self.suggested_gas_fees, self.base_fee_percentile, self.busy_threshold
        own = (each for each in fees if each and each.source is not GasSource.NODE_INSTEAD)
        return max((each.asked_at for each in own), default=None)


def latest_gas(connection: Connection, network_id: NetworkId, now: datetime) -> LatestGas:
    """Return what is known of a network's fees, each with its own age.

    Anything dated after `now` is ignored: a clock that was ahead stored it, and it would look fresh
    until that time.
    """
    return latest_gas_of(connection, [network_id], now)[network_id]


def latest_gas_of(
    connection: Connection,
    network_ids: Sequence[NetworkId],
    now: datetime,
    window: timedelta | None = None,
) -> dict[NetworkId, LatestGas]:
    """Return the same of several networks, in a few statements, however many networks there are.

    With a `window`, `recent` covers that period, and histories, which are long, are left out.
    """
    if not network_ids:
        return {}
    fees = _latest_fees_of(connection, network_ids, now)
    histories = _latest_histories(connection, network_ids, now) if window is None else {}
    percentiles = latest_percentiles(connection, network_ids, now)
    failures = standing_failures_of(connection, network_ids)
    found = {}
    for each in network_ids:
        last = fees[each].asked_at if each in fees else now  # a flat fee stays one when it is old
        recent = window and base_fee_bounds(connection, each, last - window, last)
        known = fees.get(each), histories.get(each), *_latest_two(percentiles, each)
        found[each] = LatestGas(*known, tuple(failures[each]), recent or NO_FEES)
    return found


def _latest_two(
    percentiles: Mapping[tuple[NetworkId, Operation], Dated[Wei]], network_id: NetworkId
) -> tuple[Dated[Wei] | None, Dated[Wei] | None]:
    percentile, threshold = (percentiles.get((network_id, each)) for each in PERCENTILES)
    return percentile, threshold


def _latest_fees_of(
    connection: Connection, network_ids: Sequence[NetworkId], now: datetime
) -> dict[NetworkId, Dated[SuggestedGasFees]]:
    column = suggested_gas_fees.c
    asked = last_asked_at(connection, network_ids, now)
    if not asked:
        return {}
    newest = [
        and_(column.network_id == network_id, column.asked_at == moment_of(at))
        for network_id, at in asked
    ]
    rows = connection.execute(select(suggested_gas_fees).where(or_(*newest))).mappings()
    return {
        row["network_id"]: Dated(
            suggested_fees_of_row(row), row["asked_at"], GasSource(row["source"])
        )
        for row in rows
    }


def latest_percentile(
    connection: Connection, network_id: NetworkId, operation: Operation, now: datetime
) -> Dated[Wei] | None:
    """Return the last `baseFeePercentile` or `busyThreshold` until now."""
    return latest_percentiles(connection, [network_id], now).get((network_id, operation))


def latest_fees(
    connection: Connection, network_id: NetworkId, now: datetime
) -> Dated[SuggestedGasFees] | None:
    """Return the last `suggestedGasFees` until now."""
    return _latest_fees_of(connection, [network_id], now).get(network_id)


def _latest_histories(
    connection: Connection, network_ids: Sequence[NetworkId], now: datetime
) -> dict[NetworkId, Dated[tuple[Wei, ...]]]:
    column = base_fee_histories.c
    query = select(base_fee_histories).where(
        column.network_id.in_(network_ids), column.asked_at <= now
    )
    return {
        row.network_id: Dated(tuple(row.base_fees), row.asked_at)
        for row in connection.execute(query)
    }
