"""Series of fees, and their roll-ups by minute, hour and day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from dashboard.domain.quantity import Wei

PARTS_BITS: Final = 6
PARTS: Final = 1 << PARTS_BITS
"""Equal parts of a doubling: a part is at most 1/64 as wide as its smallest fee."""

MINUTE: Final = 60_000


class FeeSeries(IntEnum):
    """Which fee is rolled up; the numbers are stored and mean the same for ever.

    Release 0.1.0 counted busy values under 5.
    """

    ESTIMATED_BASE_FEE = 1
    MEDIUM_MAX_PRIORITY_FEE = 2
    BASE_FEE_PERCENTILE = 3
    BUSY_THRESHOLD = 4


class RollupLevel(IntEnum):
    """How long a time one roll-up covers, from a whole multiple of it on; finest first.

    The numbers are stored and mean the same for ever.
    """

    MINUTE = 1
    HOUR = 2
    DAY = 3

    @property
    def length(self) -> int:
        """The milliseconds that one covers."""
        return _LENGTHS[self]

    def begin_of(self, at: int) -> int:
        """Return when the one began that covers a time."""
        return at - at % _LENGTHS[self]


_LENGTHS: Final = {
    RollupLevel.MINUTE: MINUTE,
    RollupLevel.HOUR: 60 * MINUTE,
    RollupLevel.DAY: 24 * 60 * MINUTE,
}


class TimedFee(NamedTuple):
    """One fee and its time; `is_estimated` if the time is only probable."""

    at: int
    fee: Wei
    is_estimated: bool = False


class SavedFee(NamedTuple):
    """A fee that was saved just now, and the one that it replaced, if it did."""

    fee: TimedFee
    replaced: TimedFee | None = None


SavedFees: TypeAlias = Mapping[FeeSeries, Sequence[SavedFee]]
