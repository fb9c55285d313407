"""Whether a network is busy: which fee shows it, and since when that has lasted long enough."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from dashboard.detect.start_and_end_of_conditions import Conclusions, condition_of, spell_state
from dashboard.domain.alerts.condition import Signal, State, SubjectKind
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.busy_spells import JudgedValue, SpellState, follow
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.quantity import Wei

SMALLEST_FLAT_WINDOW: Final = 20
"""How many equal base fees make a chain flat; fewer may be equal by chance."""

FLAT_FOR: Final = timedelta(hours=1)
"""A base fee that has not moved for this long says nothing about busyness."""

PRIORITY_WINDOW: Final = timedelta(days=1)
"""How far back stored priority fees are compared with the latest one on a flat chain."""

BUSY_PERCENTILE: Final = 90
"""A chain with a constant base fee is busy strictly above this percentile of its priority fees."""


class PriorityFeeReadings(Struct, frozen=True):
    """The latest medium suggested priority fee, and a window of stored ones."""

    medium: Wei
    window: RankedFees


class BaseFeeReadings(Struct, frozen=True):
    """The latest values of one network; each is None if it was never answered or is stale.

    `known_window` holds every known base fee.
    """

    estimated_base_fee: Wei | None
    busy_threshold: Wei | None
    known_window: RankedFees = field(default_factory=RankedFees)


def measure_busyness(readings: BaseFeeReadings, priority: PriorityFeeReadings) -> FeeGrounds | None:
    """Return the fee that shows how busy the network is, and its threshold.

    That is the base fee and its threshold. If the base fee never moves, it is the priority fee and
    its own 90th percentile, since such a base fee equals its threshold for ever. None if a value is
    missing, or if too few are stored.
    """
    if is_flat(readings.known_window):
        if len(priority.window) < SMALLEST_FLAT_WINDOW:
            return None
        threshold = priority.window.percentile(BUSY_PERCENTILE)
        return FeeGrounds(Signal.PRIORITY_FEE, priority.medium, threshold)
    return _measure_base_fee(readings)


def is_flat(known_window: RankedFees) -> bool:
    """Whether all known base fees are equal, and there are enough of them."""
    return len(known_window) >= SMALLEST_FLAT_WINDOW and known_window.is_constant


def _measure_base_fee(readings: BaseFeeReadings) -> FeeGrounds | None:
    if readings.estimated_base_fee is None or readings.busy_threshold is None:
        return None
    return FeeGrounds(Signal.BASE_FEE, readings.estimated_base_fee, readings.busy_threshold)


def conclude_busyness(
    conclusions: Conclusions, grounds: FeeGrounds | None, now: datetime, pause: timedelta
) -> None:
    """Conclude from one more value whether a busy spell lasts; None if there is no value.

    If no value comes for longer than `pause`, the state becomes unknown.
    """
    before = spell_state(conclusions.held.get(SubjectKind.BUSYNESS), now)
    states: list[SpellState] = []
    if grounds is not None:
        value = JudgedValue(now, grounds.is_busy)
        states = follow(before, value, conclusions.rules.busy, pause)
    elif before is not None and now - before.seen_at > pause:
        states = [before.unseen()]
    for each in states:
        after = condition_of(SubjectKind.BUSYNESS, each)
        if conclusions.state(SubjectKind.BUSYNESS) is not after.state:
            shown = None if after.state is State.UNKNOWN else grounds
            conclusions.change(SubjectKind.BUSYNESS, after.state, now, shown, after.since)
        conclusions.held[SubjectKind.BUSYNESS] = after
