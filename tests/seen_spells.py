"""Busy spells for stores that no worker filled: those that the stored base fees make."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.fees.busy_spells import JudgedValue, Spell, longest_pause, spells_of
from dashboard.domain.fees.gas import FeeSeries
from dashboard.domain.quantity import NetworkId
from dashboard.store.fees.busy_window import save_spells
from dashboard.store.fees.series import FeePercentiles, integers
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.schema.columns import moment_of

_EVER = (0, 2**60)


def seen_spells(connection: Connection, network_id: NetworkId, period: timedelta) -> list[Spell]:
    """Return the spells that polled base fees make beside the thresholds that held then."""
    fees = [
        each
        for each in fee_values(
            connection, SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE), *_EVER
        )
        if not each.is_estimated
    ]
    asked = fee_values(connection, SeriesKey(network_id, FeeSeries.BUSY_THRESHOLD), *_EVER)
    thresholds = FeePercentiles.of(asked).at(integers(each.at for each in fees))
    if thresholds is None:
        return []
    values = (
        JudgedValue(moment_of(each.at), each.fee > threshold)
        for each, threshold in zip(fees, thresholds.tolist(), strict=True)
    )
    return spells_of(values, ConditionRules().busy, longest_pause(period))


def save_seen_spells(connection: Connection, network_id: NetworkId, period: timedelta) -> None:
    """Save them."""
    save_spells(connection, network_id, seen_spells(connection, network_id, period))
