"""What must hold of the numbers behind the gas operations together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dashboard.settings.fees import FeeSettings, LevelSettings
from dashboard.settings.locate import Path

Finding = tuple[Path, str]


def check_fees(fees: FeeSettings, place: Path) -> Iterator[Finding]:
    """Yield what is contradictory in the numbers of all networks, or of one."""
    for name in ("history_blocks", "historical_blocks"):
        yield from _at_most(fees, place, name, "window_blocks")
    for name in ("recent_blocks", "trend_blocks"):
        yield from _at_most(fees, place, name, "historical_blocks")
    yield from _at_most(fees, place, "usual_percentile", "busy_percentile")
    smallest, largest = fees.range_percentiles
    if smallest > largest:
        said = f"is {smallest} to {largest}: write the smaller percentile first"
        yield (*place, "range_percentiles"), said
    levels = {"low": fees.low, "medium": fees.medium, "high": fees.high}
    for name, level in levels.items():
        if level.min_wait > level.max_wait:
            yield (*place, name, "min_wait"), "is longer than max_wait: exchange the two"
    yield from _ascending(levels, place)


def _at_most(fees: FeeSettings, place: Path, name: str, bound: str) -> Iterator[Finding]:
    value, largest = getattr(fees, name), getattr(fees, bound)
    if value > largest:
        yield (*place, name), f"is {value}, more than {bound}, which is {largest}: lower it"


def _ascending(levels: dict[str, LevelSettings], place: Path) -> Iterator[Finding]:
    """Find a higher level that would suggest a lower fee."""
    for below, above in pairwise(levels):
        for key in ("reward_percentile", "priority_fee_floor", "base_fee_share"):
            if getattr(levels[below], key) > getattr(levels[above], key):
                said = f"is below that of {below}: a higher level suggests no lower fee"
                yield (*place, above, key), said
