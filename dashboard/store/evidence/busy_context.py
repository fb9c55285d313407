"""What the store knows about the time before a network became busy.

Kept apart from `evidence.py`, so that whoever only reads about a hash need not import NumPy.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from dashboard.domain.alerts.condition import Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.busy_spells import (
    USUAL_DAYS,
    USUAL_WINDOW,
    BusyContext,
    BusyTime,
    FeePoint,
    UsualFee,
    UsualSpells,
    usual_fee,
    usual_spells,
)
from dashboard.domain.fees.cheap_hours import HourFee
from dashboard.domain.fees.gas import FeeSeries, RollupLevel
from dashboard.domain.health.coverage import Watched
from dashboard.domain.quantity import NetworkId
from dashboard.store.fees.busy_window import spells_between
from dashboard.store.fees.rollups import medians_at, medians_between
from dashboard.store.fees.series import ChartRange, fee_steps
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.monitoring.coverage import watched_from, watched_time
from dashboard.store.schema.columns import milliseconds_of, moment_of

_SHOWN: Final = timedelta(hours=24)
_STEP: Final = timedelta(minutes=5)
SERIES: Final = {
    Signal.BASE_FEE: FeeSeries.ESTIMATED_BASE_FEE,
    Signal.PRIORITY_FEE: FeeSeries.MEDIUM_MAX_PRIORITY_FEE,
}
"""The series of the fee that decides whether a network is busy."""


def read_busy_context(
    connection: Connection, network_id: NetworkId, grounds: FeeGrounds, at: datetime
) -> BusyContext:
    """Read how fees moved until that moment, and earlier spells; the same whenever it is asked."""
    between = ChartRange(at - _SHOWN, at, _STEP)
    steps = fee_steps(connection, network_id, SERIES[grounds.signal], between)
    return BusyContext(
        grounds=grounds,
        since=between.since,
        until=at,
        fees=tuple(FeePoint(step.last_at, step.lowest, step.highest) for step in steps),
        usual=read_usual_spells(connection, network_id, at),
    )


def read_usual_spells(
    connection: Connection, network_id: NetworkId, at: datetime
) -> UsualSpells | None:
    """Read how long busy spells last that begin at this hour; None if too few are known."""
    return usual_spells(spells_between(connection, network_id, at - USUAL_WINDOW, at), at)


def read_busy_time(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> BusyTime:
    """Read the busy spells of a period and how much of it was watched, for the busy share.

    The watched part is None for a network that has only a history.
    """
    watched = None
    if watched_from(connection, [network_id], Watched.FEES):
        watched = watched_time(connection, [network_id], Watched.FEES, since, until)
    return BusyTime(tuple(spells_between(connection, network_id, since, until)), watched)


def read_usual_fee(
    connection: Connection, network_id: NetworkId, series: FeeSeries, at: datetime
) -> UsualFee | None:
    """Read what a fee usually is at this hour of the day; None if too few days are known."""
    hour = RollupLevel.HOUR.begin_of(milliseconds_of(at))
    before = [hour - day * RollupLevel.DAY.length for day in range(1, USUAL_DAYS + 1)]
    key = SeriesKey(network_id, series)
    return usual_fee(medians_at(connection, key, RollupLevel.HOUR, before))


def read_hours(
    connection: Connection, network_id: NetworkId, series: FeeSeries, now: datetime
) -> list[HourFee]:
    """Read the median fee of each hour of the last days, oldest first, without the hour of now."""
    until = RollupLevel.HOUR.begin_of(milliseconds_of(now))
    since = until - USUAL_DAYS * RollupLevel.DAY.length
    key = SeriesKey(network_id, series)
    found = medians_between(connection, key, RollupLevel.HOUR, since, until)
    return [HourFee(moment_of(begins_at), median) for begins_at, median in found]
