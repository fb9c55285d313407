"""Back-filling: base fees of a time in which nothing was observed, at the time they probably had.

`baseFeeHistory` names neither blocks nor times, so the times are counted back from the answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, select

from dashboard.domain.fee_rollup import SeenFee
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.fee_rollups import Arrival
from dashboard.store.schema import estimated_base_fees, suggested_gas_fees
from dashboard.store.upsert import insert_all_new

_SHORTEST_GAP: Final = timedelta(seconds=15)
_GAP_IN_BLOCKS: Final = 3
_KNOWN: Final = (
    (suggested_gas_fees, suggested_gas_fees.c.asked_at),
    (estimated_base_fees, estimated_base_fees.c.at),
)


def backfill(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    history: Sequence[Wei],
    block_time: timedelta,
) -> list[Arrival]:
    """Keep those values of a history, oldest first, that lie where no base fee is known.

    Return them for roll-ups.
    """
    asked_at = _as_stored(asked_at)
    times = [_as_stored(asked_at - age * block_time) for age in range(len(history) - 1, 0, -1)]
    if not times:
        return []
    known = sorted({*_known_times(connection, network_id, times[0], asked_at), asked_at})
    gap = max(_SHORTEST_GAP, _GAP_IN_BLOCKS * block_time)
    rows: list[dict[str, Any]] = [
        {"network_id": network_id, "at": at, "base_fee": base_fee}
        for at, base_fee in zip(times, history, strict=False)
        if _lies_in_gap(at, known, gap)
    ]
    insert_all_new(connection, estimated_base_fees, rows)
    return [
        Arrival(SeenFee(milliseconds_of(row["at"]), row["base_fee"], is_estimated=True))
        for row in rows
    ]


def _known_times(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> set[datetime]:
    """Return when a base fee is known between two times, and the last time before them."""
    times: set[datetime] = set()
    for table, at in _KNOWN:
        here = select(at).where(table.c.network_id == network_id)
        before = here.where(at < since).order_by(at.desc()).limit(1)
        times.update(connection.scalars(here.where(at.between(since, until))))
        times.update(connection.scalars(before))
    return times


def _lies_in_gap(at: datetime, known: Sequence[datetime], gap: timedelta) -> bool:
    """Whether the known times around `at` are far apart; before the first one is a gap."""
    following = bisect_left(known, at)
    if known[following] == at:
        return False
    return following == 0 or known[following] - known[following - 1] > gap


def _as_stored(at: datetime) -> datetime:
    return moment_of(milliseconds_of(at))
