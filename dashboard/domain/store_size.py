"""How large each kind of data is, how fast it grows, and when the disk will be full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

SHORTEST_GROWTH: Final = timedelta(hours=20)
"""Growth over less time says nothing about a day."""

_DAY: Final = timedelta(days=1)


class StoreKind(StrEnum):
    """The kinds of data whose size is shown."""

    FEES = "fees"
    FEE_ROLLUPS = "fee roll-ups"
    REJECTIONS = "rejections"
    TRACKED = "tracked"
    NOTIFICATIONS = "notifications"
    AUDIT_LOG = "audit log"
    CREDITS = "credits"
    COVERAGE_GAPS = "coverage gaps"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class KindSize:
    """One kind as it was measured; bytes are those on disk, indexes included.

    `is_estimated`: the database does not report bytes by table. `growth` is bytes a day, None
    while too little time has passed to know.
    """

    kind: StoreKind
    rows: int
    bytes: int
    is_estimated: bool = False
    growth: float | None = None


@dataclass(frozen=True, slots=True)
class StoreSize:
    """The store as a whole; `free` is room for more: in the file, and on its disk where known."""

    measured_at: datetime
    kinds: tuple[KindSize, ...]
    free_inside: int = 0
    free_on_disk: int | None = None

    @property
    def bytes(self) -> int:
        """What all kinds take together."""
        return sum(each.bytes for each in self.kinds)

    @property
    def growth(self) -> float | None:
        """Bytes a day, None while that is not known; below zero where more is purged."""
        known = [each.growth for each in self.kinds if each.growth is not None]
        return sum(known) if known else None

    @property
    def full_in(self) -> timedelta | None:
        """When the disk is full, None where it does not grow or that is unknown."""
        if self.free_on_disk is None or self.growth is None or self.growth <= 0:
            return None
        days = (self.free_on_disk + self.free_inside) / self.growth
        return min(days, 100 * 365) * _DAY


def growth_of(earlier: Sequence[tuple[datetime, int]], now: tuple[datetime, int]) -> float | None:
    """Return bytes a day since the first of the earlier sizes, each with its time."""
    if not earlier:
        return None
    (began, before), (ended, after) = earlier[0], now
    length = ended - began
    return None if length < SHORTEST_GROWTH else (after - before) * (_DAY / length)
