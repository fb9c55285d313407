"""A series of fees rolled up as a whole: what the store's roll-ups are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dashboard.domain.fees.rollup import FeeRollup, RolledUp, RollupLevel, TimedFee


def roll_up(values: Iterable[TimedFee]) -> Iterator[RolledUp]:
    """Roll a whole series up, oldest first, at every level; each is yielded once it is whole."""
    open_ones: dict[RollupLevel, RolledUp] = {}
    for value in values:
        for level in RollupLevel:
            begins_at = level.begin_of(value.at)
            held = open_ones.get(level)
            if held is not None and held.begins_at == begins_at:
                held.rollup.add(value)
                continue
            if held is not None:
                yield held
            open_ones[level] = RolledUp(level, begins_at, FeeRollup.of(value))
    yield from open_ones.values()
