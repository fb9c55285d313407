"""Which base fees are busy: those above the busy threshold that held when they were seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from sqlalchemy import Connection

from dashboard.domain.fee_rollup import FeeSeries, TimedFee
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.fees.rollups import last_before
from dashboard.store.fees.stored_fees import SeriesKey, fee_values, last_percentile_before


def busy_flags(
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
