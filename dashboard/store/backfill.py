"""Back-filling: base fees of a time in which nothing was observed, at the time they probably had.

`baseFeeHistory` names neither blocks nor times, so the times are counted back from the answer. Two
answers in a row are aligned, so that each block gives one value at most. Where they fit in several
ways, as on a flat chain, a time has a value only where it has the same one in all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from dashboard.domain.alignment import Fit, fits
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
    """One `baseFeeHistory`; `has_newest`: the base fee of its time was observed as well."""

    base_fees: Sequence[Wei]
    asked_at: datetime
    has_newest: bool = True


def backfill(
    connection: Connection, network_id: NetworkId, answer: Answer, block_time: timedelta
) -> list[Arrival]:
    """Keep those values of a history that lie where no base fee is known.

    `base_fee_histories` still holds the answer before this one: what that told too is not told
    again. Return what was kept, for roll-ups.
    """
    answer = answer._replace(asked_at=_as_stored(answer.asked_at))
    told = list(_told(answer, _earlier(connection, network_id), block_time))
    if not told:
        return []
    known = _known_times(connection, network_id, told[0][0], answer.asked_at)
    if answer.has_newest:
        known.add(answer.asked_at)
    gap = max(_SHORTEST_GAP, _GAP_IN_BLOCKS * block_time)
    bounds = sorted({*known, answer.asked_at})
    placed = {
        at: base_fee for at, base_fee in told if at not in known and _lies_in_gap(at, bounds, gap)
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


def _told(
    answer: Answer, earlier: Answer | None, block_time: timedelta
) -> Iterator[tuple[datetime, Wei]]:
    """Yield the base fees that may be placed, oldest first, and their times.

    Where the answer fits onto the earlier one in one way, they are those of the blocks that came
    since, at times since. Where it does not fit, they are all, the oldest first as the gas API
    tells them.
    """
    fees, asked_at, _ = answer
    found: list[Fit] = []
    if earlier is not None and earlier.asked_at < asked_at:
        elapsed = asked_at - earlier.asked_at
        found = fits(earlier.base_fees, fees)
        if len(found) > 1 or not all(fit.is_certain for fit in found):
            yield from _agreed(found, asked_at, elapsed, block_time)
            return
        for fit in found:
            fees = fit.base_fees[len(fees) - fit.most :]
            block_time = min(block_time, elapsed / max(1, fit.most))
    for age in range(len(fees) - 1, -1, -1):
        yield _as_stored(asked_at - age * block_time), fees[len(fees) - 1 - age]


def _agreed(
    found: Sequence[Fit], asked_at: datetime, elapsed: timedelta, block_time: timedelta
) -> Iterator[tuple[datetime, Wei]]:
    """Yield a base fee for each block time since the earlier answer in which all ways agree."""
    blocks = min(max(fit.most for fit in found), -(-elapsed // block_time))
    for age in range(blocks - 1, -1, -1):
        fees = {fit.common_fee(*_ages(fit, age, elapsed, block_time)) for fit in found}
        if len(fees) == 1 and (base_fee := fees.pop()) is not None:
            yield _as_stored(asked_at - age * block_time), base_fee


def _ages(fit: Fit, age: int, elapsed: timedelta, block_time: timedelta) -> tuple[int, int]:
    """Return which blocks, by age, may have been the newest one so many block times ago.

    With few new blocks it is the last one from before them, with many they came faster.
    """
    fastest = -(-age * fit.most * block_time // elapsed)
    return min(age, fit.fewest), min(max(age, fastest), fit.most)


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
    return following == 0 or known[following] - known[following - 1] > gap


def _as_stored(at: datetime) -> datetime:
    return moment_of(milliseconds_of(at))
