"""Back-filling: base fees of a time in which nothing was observed, at the time they probably had.

`baseFeeHistory` names neither blocks nor times, so the times are counted back from the answer. Two
answers in a row are aligned, so that each block gives one value at most; where they fit in several
ways (a flat chain does), values are placed only where nothing is known, as after a pause.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from dashboard.domain.alignment import align
from dashboard.domain.fee_rollup import SeenFee
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.fee_rollups import Arrival
from dashboard.store.schema import base_fee_histories, estimated_base_fees, suggested_gas_fees
from dashboard.store.upsert import insert_all_new

_SHORTEST_GAP: Final = timedelta(seconds=15)
_GAP_IN_BLOCKS: Final = 3
_KNOWN: Final = (
    (suggested_gas_fees, suggested_gas_fees.c.asked_at),
    (estimated_base_fees, estimated_base_fees.c.at),
)


class Answer(NamedTuple):
    """One `baseFeeHistory`."""

    base_fees: Sequence[Wei]
    asked_at: datetime


def backfill(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    history: Sequence[Wei],
    block_time: timedelta,
) -> list[Arrival]:
    """Keep those values of a history that lie where no base fee is known; the last one is known.

    `base_fee_histories` still holds the answer before this one: what that told too is not told
    again. Return what was kept, for roll-ups.
    """
    asked_at = _as_stored(asked_at)
    earlier = _earlier(connection, network_id)
    fees, times = _new_blocks(Answer(history, asked_at), earlier, block_time)
    if not times:
        return []
    known = sorted({*_known_times(connection, network_id, times[0], asked_at), asked_at})
    gap = max(_SHORTEST_GAP, _GAP_IN_BLOCKS * block_time)
    placed = {
        at: base_fee
        for at, base_fee in zip(times, fees, strict=False)
        if _lies_in_gap(at, known, gap)
    }
    rows = [{"network_id": network_id, "at": at, "base_fee": placed[at]} for at in placed]
    insert_all_new(connection, estimated_base_fees, rows)
    return [
        Arrival(SeenFee(milliseconds_of(at), base_fee, is_estimated=True))
        for at, base_fee in placed.items()
    ]


def _earlier(connection: Connection, network_id: NetworkId) -> Answer | None:
    query = select(base_fee_histories.c.base_fees, base_fee_histories.c.asked_at)
    row = connection.execute(query.where(base_fee_histories.c.network_id == network_id)).first()
    return None if row is None else Answer(row.base_fees, row.asked_at)


def _new_blocks(
    answer: Answer, earlier: Answer | None, block_time: timedelta
) -> tuple[Sequence[Wei], list[datetime]]:
    """Return the base fees to place, oldest first, and the times of all but the last one.

    Where the answer fits onto the earlier one in one way, they are those of the blocks that came
    since, at times since. Else they are all, the oldest first as the gas API tells them.
    """
    fees, asked_at = answer
    aligned = None
    if earlier is not None and earlier.asked_at < asked_at:
        aligned = align(earlier.base_fees, fees)
    if aligned is not None and earlier is not None:
        in_order = fees[::-1] if aligned.newest_first else fees
        fees = in_order[len(in_order) - aligned.came :]
        block_time = min(block_time, (asked_at - earlier.asked_at) / max(1, aligned.came))
    return fees, [_as_stored(asked_at - age * block_time) for age in range(len(fees) - 1, 0, -1)]


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
