"""The single base fees that a store holds, as tests compare them with what was saved."""

from __future__ import annotations

from datetime import datetime

from dashboard.domain.fees.gas import FeeSeries, TimedFee
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.schema.columns import milliseconds_of


def base_fees(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[TimedFee]:
    """Return the base fees of a time, both ends included, oldest first."""
    key = SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE)
    return fee_values(connection, key, milliseconds_of(since), milliseconds_of(until) + 1)
