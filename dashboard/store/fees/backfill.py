"""Backfill: the base fees of a history that no poll saw, and the time they probably had.

A poll sees one block, while others come and go; `baseFeeHistory` has each. It names neither blocks
nor times, so the times are counted back from the answer. Successive answers are aligned, so that
each block gives one value at most; values that polls saw are found among them by fee, time and
order, and are left out. If two answers overlap in more than one way, as on a flat chain, only
blocks on which every alignment agrees are filled in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from dashboard.domain.fees.history_overlap import HistoryOverlap, fits
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.schema import base_fee_histories, estimated_base_fees, suggested_gas_fees
from dashboard.store.schema.columns import milliseconds_of, moment_of

_BLOCKS_OFF: Final = 2
_DRIFT: Final = 4
"""A probable time is off by some blocks, and by this fraction of its age: blocks are not regular.
"""

_SLOWEST: Final = 2
"""Usual block times: if the mean time between blocks is longer, the chain stood still."""

_MILLISECOND: Final = timedelta(milliseconds=1)
_KNOWN: Final = (
    (suggested_gas_fees.c.asked_at, suggested_gas_fees.c.estimated_base_fee),
    (estimated_base_fees.c.at, estimated_base_fees.c.base_fee),
)


class BaseFeeHistory(NamedTuple):
    """One `baseFeeHistory`, and the base fee that was observed at the same time, if one was."""

    base_fees: Sequence[Wei]
    asked_at: datetime
    observed: Wei | None = None


class DatedFee(NamedTuple):
    """A base fee, and when it was seen or probably applied."""

    at: datetime
    base_fee: Wei


def unseen_base_fees(
    connection: Connection, network_id: NetworkId, history: BaseFeeHistory, block_time: timedelta
) -> dict[datetime, Wei]:
    """Return the base fees of those blocks of a history that nobody saw, by their probable time.

    `base_fee_histories` still holds the history before this one: its blocks are left out.
    """
    history = history._replace(asked_at=_as_stored(history.asked_at))
    earlier = _previous_history(connection, network_id)
    dated = list(_dated_fees(history, earlier, block_time))
    if not dated:
        return {}
    since = dated[0].at - _leeway(history.asked_at - dated[0].at, block_time)
    if earlier is not None and earlier.asked_at < dated[0].at:
        since = max(since, earlier.asked_at + _MILLISECOND)  # none of these blocks existed then
    seen = _known_fees(connection, network_id, since, history.asked_at)
    if history.observed is not None:
        seen.append(DatedFee(history.asked_at, history.observed))
    taken = {each.at for each in seen}
    return dict(_at_distinct_times(unobserved(dated, seen, block_time), taken))


def _previous_history(connection: Connection, network_id: NetworkId) -> BaseFeeHistory | None:
    query = select(base_fee_histories.c.base_fees, base_fee_histories.c.asked_at)
    row = connection.execute(query.where(base_fee_histories.c.network_id == network_id)).first()
    return None if row is None else BaseFeeHistory(row.base_fees, row.asked_at)


def _dated_fees(
    answer: BaseFeeHistory, earlier: BaseFeeHistory | None, block_time: timedelta
) -> Iterator[DatedFee]:
    """Yield the base fees that may be placed, oldest first, and their times.

    If the answer fits the earlier one in one way, they belong to the blocks that came since. If it
    does not fit, they are all of the answer, the oldest first as the gas API sends them.
    """
    fees, asked_at, _ = answer
    found: list[HistoryOverlap] = []
    if earlier is not None and earlier.asked_at < asked_at:
        elapsed = asked_at - earlier.asked_at
        found = fits(earlier.base_fees, fees)
        if len(found) > 1 or not all(fit.is_certain for fit in found):
            yield from _agreed_fees(found, asked_at, elapsed, block_time)
            return
        for fit in found:
            fees = fit.base_fees[len(fees) - fit.most :]
            block_time = min(_SLOWEST * block_time, elapsed / max(1, fit.most))
    for age in range(len(fees) - 1, -1, -1):
        yield DatedFee(_as_stored(asked_at - age * block_time), fees[len(fees) - 1 - age])


def _agreed_fees(
    found: Sequence[HistoryOverlap], asked_at: datetime, elapsed: timedelta, block_time: timedelta
) -> Iterator[DatedFee]:
    """Yield a base fee for each block time since the earlier answer if all alignments agree."""
    blocks = min(max((fit.most for fit in found), default=0), elapsed // block_time)
    for age in range(blocks - 1, -1, -1):
        fees = {fit.common_fee(*_possible_ages(fit, age, elapsed, block_time)) for fit in found}
        if len(fees) == 1 and (base_fee := fees.pop()) is not None:
            yield DatedFee(_as_stored(asked_at - age * block_time), base_fee)


def _possible_ages(
    fit: HistoryOverlap, age: int, elapsed: timedelta, block_time: timedelta
) -> tuple[int, int]:
    """Return which blocks, by age, may have been the newest one so many block times ago.

    With few new blocks it is the last one before them; with many, blocks came faster.
    """
    fastest = -(-age * fit.most * block_time // elapsed)
    return min(age, fit.fewest), min(max(age, fastest), fit.most)


def unobserved(
    dated: Sequence[DatedFee], seen: Sequence[DatedFee], block_time: timedelta
) -> Iterator[DatedFee]:
    """Yield the fees of a history that were not seen; both are in order of time.

    An observed fee is the nearest block in time with that fee, but no newer than the block seen
    next.
    """
    times = [each.at for each in dated]
    is_seen, newest = [False] * len(dated), len(dated)
    for at, base_fee in reversed(seen):
        leeway = _leeway(times[-1] - at, block_time)
        places = range(bisect_left(times, at - leeway), bisect_right(times, at + leeway))
        alike = [
            place
            for place in places[: max(0, newest + 1 - places.start)]
            if dated[place].base_fee == base_fee
        ]
        if alike:
            newest = min(alike, key=lambda place: abs(times[place] - at))
            is_seen[newest] = True
    yield from (each for each, was_seen in zip(dated, is_seen, strict=True) if not was_seen)


def _leeway(age: timedelta, block_time: timedelta) -> timedelta:
    """Return how wrong a probable time of this age may be."""
    return _BLOCKS_OFF * block_time + max(age, timedelta()) / _DRIFT


def _at_distinct_times(values: Iterable[DatedFee], taken: set[datetime]) -> Iterator[DatedFee]:
    """Yield each value at a time of its own: a moment earlier if another value has that time."""
    for at, base_fee in values:
        own = at
        while own in taken:
            own -= _MILLISECOND
        taken.add(own)
        yield DatedFee(own, base_fee)


def _known_fees(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[DatedFee]:
    """Return the base fees that are known between two times, oldest first."""
    found: list[DatedFee] = []
    for at, base_fee in _KNOWN:
        query = select(at, base_fee).where(at.table.c.network_id == network_id)
        found += map(DatedFee._make, connection.execute(query.where(at.between(since, until))))
    return sorted(found)


def _as_stored(at: datetime) -> datetime:
    return moment_of(milliseconds_of(at))
