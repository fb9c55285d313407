"""Back-filling: base fees of a time in which nothing was observed, at the time they probably had.

`baseFeeHistory` names neither blocks nor times, so the times are counted back from the answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, select

from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.schema import estimated_base_fees, suggested_gas_fees
from dashboard.store.upsert import insert_all_new

_SHORTEST_GAP: Final = timedelta(seconds=15)
_GAP_IN_BLOCKS: Final = 3


def backfill(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    history: Sequence[Wei],
    block_time: timedelta,
) -> None:
    """Keep those values of a history, oldest first, that lie where no base fee is known."""
    times = [asked_at - age * block_time for age in range(len(history) - 1, 0, -1)]
    if not times:
        return
    known = [*_known_times(connection, network_id, times[0], asked_at), asked_at]
    gap = max(_SHORTEST_GAP, _GAP_IN_BLOCKS * block_time)
    rows = [
        {"network_id": network_id, "at": at, "base_fee": base_fee}
        for at, base_fee in zip(times, history, strict=False)
        if _lies_in_gap(at, known, gap)
    ]
    insert_all_new(connection, estimated_base_fees, rows)


def _known_times(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[datetime]:
    observed, estimated = suggested_gas_fees.c, estimated_base_fees.c
    seen = select(observed.asked_at).where(
        observed.network_id == network_id, observed.asked_at.between(since, until)
    )
    filled = select(estimated.at).where(
        estimated.network_id == network_id, estimated.at.between(since, until)
    )
    return sorted([*connection.scalars(seen), *connection.scalars(filled)])


def _lies_in_gap(at: datetime, known: Sequence[datetime], gap: timedelta) -> bool:
    """Whether the known times around `at` are far apart; before the first one is a gap."""
    following = bisect_right(known, at)
    if following == len(known):
        return False
    return following == 0 or known[following] - known[following - 1] > gap
