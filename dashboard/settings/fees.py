"""[fees]: the numbers behind the four gas operations, for all networks and for one."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from dashboard.settings.values import Duration, FeeAmount

Blocks = Annotated[int, Meta(ge=1, le=1024)]
Window = Annotated[int, Meta(ge=1, le=200_000)]
Percentile = Annotated[int, Meta(ge=0, le=100)]
Share = Annotated[int, Meta(ge=1, le=10_000)]
Pair = Annotated[list[Percentile], Meta(min_length=2, max_length=2)]


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
        for name in ("low", "medium", "high")
    }
    return msgspec.structs.replace(common, **{**_given(own), **levels})


def _given(own: Struct | None) -> dict[str, Any]:
    fields = () if own is None else own.__struct_fields__
    return {name: value for name in fields if (value := getattr(own, name)) is not None}
