"""[fees]: the numbers behind the four gas operations, for all networks and for one; their check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from dashboard.settings.layers import Remark, SettingPath, as_far_as_readable
from dashboard.settings.values import Duration, FeeAmount

Blocks = Annotated[int, Meta(ge=1, le=1024)]
Window = Annotated[int, Meta(ge=1, le=200_000)]
Percentile = Annotated[int, Meta(ge=0, le=100)]
Share = Annotated[int, Meta(ge=1, le=10_000)]
Pair = Annotated[list[Percentile], Meta(min_length=2, max_length=2)]


_LEVELS: Final = ("low", "medium", "high")


class LevelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[fees.low], [fees.medium], [fees.high]: how one level is made; shares are in percent."""

    reward_percentile: Percentile
    priority_fee_share: Share
    priority_fee_floor: FeeAmount
    base_fee_share: Share
    min_wait: Duration
    max_wait: Duration


class OwnLevelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The same for one network; None: as for all."""

    reward_percentile: Percentile | None = None
    priority_fee_share: Share | None = None
    priority_fee_floor: FeeAmount | None = None
    base_fee_share: Share | None = None
    min_wait: Duration | None = None
    max_wait: Duration | None = None


class FeeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[fees]: windows in blocks and percentiles, with the three levels."""

    window_blocks: Window
    history_blocks: Window
    historical_blocks: Blocks
    recent_blocks: Blocks
    trend_blocks: Blocks
    usual_percentile: Percentile
    busy_percentile: Percentile
    range_percentiles: Pair
    trend_percentile: Percentile
    low: LevelSettings
    medium: LevelSettings
    high: LevelSettings


class OwnFeeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[networks.NAME.fees]: the same for one network; None: as for all."""

    window_blocks: Window | None = None
    history_blocks: Window | None = None
    historical_blocks: Blocks | None = None
    recent_blocks: Blocks | None = None
    trend_blocks: Blocks | None = None
    usual_percentile: Percentile | None = None
    busy_percentile: Percentile | None = None
    range_percentiles: Pair | None = None
    trend_percentile: Percentile | None = None
    low: OwnLevelSettings | None = None
    medium: OwnLevelSettings | None = None
    high: OwnLevelSettings | None = None


def fees_of(common: FeeSettings, own: OwnFeeSettings | None) -> FeeSettings:
    """Return what holds for a network: its own numbers, and for the others those of all."""
    levels = {
        name: msgspec.structs.replace(getattr(common, name), **_given(getattr(own, name, None)))
        for name in _LEVELS
    }
    return msgspec.structs.replace(common, **{**_given(own), **levels})


def _given(own: Struct | None) -> dict[str, Any]:
    fields = () if own is None else own.__struct_fields__
    return {name: value for name in fields if (value := getattr(own, name)) is not None}


def check_fees(fees: FeeSettings, section: SettingPath) -> Iterator[Remark]:
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


@as_far_as_readable
def _check_range(fees: FeeSettings, section: SettingPath) -> Iterator[Remark]:
    smallest, largest = fees.range_percentiles
    if smallest > largest:
        message = f"is {smallest} to {largest}: write the smaller percentile first"
        yield (*section, "range_percentiles"), message


@as_far_as_readable
def _check_waits(fees: FeeSettings, section: SettingPath, name: str) -> Iterator[Remark]:
    level: LevelSettings = getattr(fees, name)
    if level.min_wait > level.max_wait:
        yield (*section, name, "min_wait"), "is longer than max_wait: exchange the two"


@as_far_as_readable
def _at_most(fees: FeeSettings, section: SettingPath, name: str, bound: str) -> Iterator[Remark]:
    value, largest = getattr(fees, name), getattr(fees, bound)
    if value > largest:
        yield (*section, name), f"is {value}, more than {bound}, which is {largest}: lower it"


@as_far_as_readable
def _check_ascent(fees: FeeSettings, path: SettingPath, below: str) -> Iterator[Remark]:
    """Find a higher level that would suggest a lower fee."""
    *_, above, key = path
    if getattr(getattr(fees, below), key) > getattr(getattr(fees, above), key):
        yield path, f"is below that of {below}: a higher level suggests no lower fee"
