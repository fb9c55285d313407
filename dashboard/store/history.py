"""Histories put into a store at once: many observations in few statements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, func, or_, select

from dashboard.domain.observation import GasObservation, GasSource, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.fee_rows import row_of_fees
from dashboard.store.schema import (
    fee_marks,
    fee_rollups,
    rejections,
    suggested_gas_fees,
    watched_cohorts,
)
from dashboard.store.upsert import insert_all_new


def keep_gas_history(connection: Connection, observations: Sequence[GasObservation]) -> None:
    """Keep suggested fees, percentiles and thresholds; what is kept already stays as it is.

    Unlike what a poll saw just now they say nothing of who answers at present.
    """
    insert_all_new(
        connection,
        suggested_gas_fees,
        [
            {
                "network_id": each.network_id,
                "asked_at": each.asked_at,
                "source": each.source_of(Operation.SUGGESTED_GAS_FEES),
                **row_of_fees(each.suggested_gas_fees),
            }
            for each in observations
            if each.suggested_gas_fees is not None
        ],
    )
    insert_all_new(
        connection,
        fee_marks,
        [
            {
                "network_id": each.network_id,
                "asked_at": each.asked_at,
                "operation": operation,
                "fee": fee,
                "source": each.source_of(operation),
            }
            for each in observations
            for operation, fee in (
                (Operation.BASE_FEE_PERCENTILE, each.base_fee_percentile),
                (Operation.BUSY_THRESHOLD, each.busy_threshold),
            )
            if fee is not None
        ],
    )


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
