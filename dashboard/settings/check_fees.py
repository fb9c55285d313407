"""What must hold of the numbers behind the gas operations together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from dashboard.settings.fees import FeeSettings, LevelSettings
from dashboard.settings.locate import Path
from dashboard.settings.partly import as_far_as_readable

Finding = tuple[Path, str]

_LEVELS: Final = ("low", "medium", "high")


def check_fees(fees: FeeSettings, place: Path) -> Iterator[Finding]:
    """Yield what is contradictory in the numbers of all networks, or of one."""
    for name in ("history_blocks", "historical_blocks"):
        yield from _at_most(fees, place, name, "window_blocks")
    for name in ("recent_blocks", "trend_blocks"):
        yield from _at_most(fees, place, name, "historical_blocks")
    yield from _at_most(fees, place, "usual_percentile", "busy_percentile")
    yield from _check_range(fees, place)
    for name in _LEVELS:
        yield from _check_waits(fees, place, name)
    for below, above in pairwise(_LEVELS):
        for key in ("reward_percentile", "priority_fee_floor", "base_fee_share"):
            yield from _check_ascent(fees, (*place, above, key), below)


@as_far_as_readable
def _check_range(fees: FeeSettings, place: Path) -> Iterator[Finding]:
    smallest, largest = fees.range_percentiles
    if smallest > largest:
        said = f"is {smallest} to {largest}: write the smaller percentile first"
        yield (*place, "range_percentiles"), said


@as_far_as_readable
def _check_waits(fees: FeeSettings, place: Path, name: str) -> Iterator[Finding]:
    level: LevelSettings = getattr(fees, name)
    if level.min_wait > level.max_wait:
        yield (*place, name, "min_wait"), "is longer than max_wait: exchange the two"


@as_far_as_readable
def _at_most(fees: FeeSettings, place: Path, name: str, bound: str) -> Iterator[Finding]:
    value, largest = getattr(fees, name), getattr(fees, bound)
    if value > largest:
        yield (*place, name), f"is {value}, more than {bound}, which is {largest}: lower it"


@as_far_as_readable
def _check_ascent(fees: FeeSettings, path: Path, below: str) -> Iterator[Finding]:
    """Find a higher level that would suggest a lower fee."""
    *_, above, key = path
    if getattr(getattr(fees, below), key) > getattr(getattr(fees, above), key):
        yield path, f"is below that of {below}: a higher level suggests no lower fee"
