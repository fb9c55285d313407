"""The check of [fees]: the numbers behind the four gas operations, of all networks or of one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from dashboard.domain.fees.suggestion import FeePolicy, LevelPolicy
from dashboard.settings.layers import Remark, SettingPath

_LEVELS: Final = ("low", "medium", "high")


def check_fees(fees: FeePolicy, section: SettingPath) -> Iterator[Remark]:
    """Yield what is contradictory in the numbers of all networks, or of one."""
    for name in ("history_blocks", "historical_blocks"):
        yield from _at_most(fees, section, name, "window_blocks")
    for name in ("recent_blocks", "trend_blocks"):
        yield from _at_most(fees, section, name, "historical_blocks")
    yield from _at_most(fees, section, "usual_percentile", "busy_percentile")
    yield from _check_range(fees, section)
    for name in _LEVELS:
        yield from _check_waits(fees, section, name)
    for below, above in pairwise(_LEVELS):
        for key in ("reward_percentile", "priority_fee_floor", "base_fee_share"):
            yield from _check_ascent(fees, (*section, above, key), below)


def _check_range(fees: FeePolicy, section: SettingPath) -> Iterator[Remark]:
    smallest, largest = fees.range_percentiles
    if smallest > largest:
        message = f"is {smallest} to {largest}: write the smaller percentile first"
        yield (*section, "range_percentiles"), message


def _check_waits(fees: FeePolicy, section: SettingPath, name: str) -> Iterator[Remark]:
    level: LevelPolicy = getattr(fees, name)
    if level.min_wait > level.max_wait:
        yield (*section, name, "min_wait"), "is longer than max_wait: exchange the two"


def _at_most(fees: FeePolicy, section: SettingPath, name: str, bound: str) -> Iterator[Remark]:
    value, largest = getattr(fees, name), getattr(fees, bound)
    if value > largest:
        yield (*section, name), f"is {value}, more than {bound}, which is {largest}: lower it"


def _check_ascent(fees: FeePolicy, path: SettingPath, below: str) -> Iterator[Remark]:
    """Find a higher level that would suggest a lower fee."""
    *_, above, key = path
    if getattr(getattr(fees, below), key) > getattr(getattr(fees, above), key):
        yield path, f"is below that of {below}: a higher level suggests no lower fee"
