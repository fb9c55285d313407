"""Fees rolled up the plain way: what the arrays of the store are compared with."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final, NamedTuple, Self

from dashboard.domain.fees.gas import PARTS_BITS, RollupLevel, TimedFee
from dashboard.domain.fees.percentiles import nearest_rank
from dashboard.domain.quantity import Wei
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.driver import Row
from dashboard.store.fees import rollups as store_rollups
from dashboard.store.fees.stored_fees import SeriesKey

_WIDTHS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Bytes of a count in the encoded form, and what the module struct calls them."""


def _part_of(fee: Wei) -> int:
    """Return the number of the part that a fee is counted in; larger fees have larger ones."""
    shift = max(0, fee.bit_length() - PARTS_BITS - 1)
    return (shift << PARTS_BITS) + (fee >> shift)


def _middle_of(part: int) -> Wei:
    """Return the fee that stands for all of a part, at most 1/128 away from each."""
    shift = max(0, (part >> PARTS_BITS) - 1)
    lowest = (part - (shift << PARTS_BITS)) << shift
    return Wei(lowest + (1 << shift >> 1))


@dataclass(slots=True)
class FeeRollup:
    """What was seen of a fee: `seen` values, the first and the last, `estimated` of them guessed.

    `longest_gap` is the longest silence between two of them, in milliseconds; `parts` counts them
    by size.
    """

    first_at: int
    last_at: int
    lowest: Wei
    highest: Wei
    total: int
    seen: int
    estimated: int
    last: Wei
    longest_gap: int
    parts: Counter[int] = field(repr=False)

    @classmethod
    def of_all(cls, values: Iterable[TimedFee]) -> Self:
        """Roll values up that come in order of time; there must be one."""
        times, fees, estimated = zip(*values, strict=True)
        return cls(
            times[0],
            times[-1],
            min(fees),
            max(fees),
            sum(fees),
            len(fees),
            sum(estimated),
            fees[-1],
            max((after - before for before, after in pairwise(times)), default=0),
            Counter(map(_part_of, fees)),
        )

    def percentiles(self, *percents: int) -> tuple[Wei, ...]:
        """Return nearest-rank percentiles, at most 1/128 off the exact ones."""
        ranked = [_middle_of(part) for part in sorted(self.parts.elements())]
        found = (nearest_rank(ranked, each) for each in percents)
        return tuple(min(max(each, self.lowest), self.highest) for each in found)


class RolledUp(NamedTuple):
    """A roll-up and which time it covers."""

    level: RollupLevel
    begins_at: int
    rollup: FeeRollup


def roll_up(values: Iterable[TimedFee]) -> Iterator[RolledUp]:
    """Roll a whole series up, oldest first, at every level."""
    series = list(values)
    for level in RollupLevel:
        for number, some in groupby(series, lambda each: each.at // level.length):  # noqa: B023 - used at once
            yield RolledUp(level, number * level.length, FeeRollup.of_all(some))


def row_of(key: SeriesKey, rolled_up: RolledUp) -> Row:
    """Lay a roll-up out as a row with all columns."""
    level, begins_at, rollup = rolled_up
    return (
        *(key.network_id, int(key.series), int(level), begins_at),
        *(rollup.first_at, rollup.last_at, rollup.lowest, rollup.highest),
        rollup.total.to_bytes((rollup.total.bit_length() + 7) // 8, "big"),
        *(rollup.seen, rollup.estimated, *rollup.percentiles(50, 90)),
        *(rollup.last, rollup.longest_gap, _encoded(rollup.parts)),
    )


def _encoded(parts: Counter[int]) -> bytes:
    """Write the width of a count, then parts, ascending, then counts."""
    ascending, largest = sorted(parts), max(parts.values())
    width = next(each for each in _WIDTHS if largest < 1 << 8 * each)
    form = f"<B{len(parts)}H{len(parts)}{_WIDTHS[width]}"
    return struct.pack(form, width, *ascending, *(parts[each] for each in ascending))


def rollups_between(
    connection: Connection, key: SeriesKey, level: RollupLevel, since: int, until: int
) -> dict[int, FeeRollup]:
    """Return the stored roll-ups that begin from `since` to before `until`, oldest first."""
    rows = store_rollups.rows_between(connection, key, level, since, until)
    return {row[3]: _rollup_of(row[4:]) for row in rows}


def _rollup_of(row: Row) -> FeeRollup:
    """Read a roll-up back from a row without its key."""
    first_at, last_at, lowest, highest, total, seen, estimated, _, _, last, gap, histogram = row
    length = (len(histogram) - 1) // (2 + histogram[0])
    numbers = struct.unpack_from(f"<{length}H{length}{_WIDTHS[histogram[0]]}", histogram, 1)
    parts = Counter(dict(zip(numbers[:length], numbers[length:], strict=True)))
    bounds, summed = (first_at, last_at, lowest, highest), int.from_bytes(total, "big")
    return FeeRollup(*bounds, summed, seen, estimated, last, gap, parts)
