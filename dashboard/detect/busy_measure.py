"""Conclude whether a network is busy, from its latest fees and those of the last hour or day."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from dashboard.detect.condition_start_end import Conclusions, condition_of, spell_state
from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.fees.spells import JudgedValue, SpellState, follow
from dashboard.domain.quantity import Wei

SMALLEST_FLAT_WINDOW: Final = 20
"""Equal base fees that make a chain flat; fewer blocks can be equal by chance."""

FLAT_FOR: Final = timedelta(hours=1)
"""A base fee that did not move for so long says nothing of busyness."""

PRIORITY_WINDOW: Final = timedelta(days=1)
"""The stored priority fees that the latest one of a flat chain is compared with."""

BUSY_PERCENTILE: Final = 90
"""Of the priority fees of a chain with a constant base fee: busy is strictly above it."""


@dataclass(frozen=True, slots=True)
class PriorityFeeReadings:
    """The medium suggested priority fee, and those that are stored."""

    medium: Wei
    window: RankedFees


@dataclass(frozen=True, slots=True)
class BaseFeeReadings:
    """The latest values of one network, each None if it was never answered or is stale.

    `known_window` holds every base fee that is known.
    """

    estimated_base_fee: Wei | None
    busy_threshold: Wei | None
    known_window: RankedFees = field(default_factory=RankedFees)


def measure_busyness(readings: BaseFeeReadings, priority: PriorityFeeReadings) -> FeeGrounds | None:
    """Return the fee that shows how busy the network is, and its threshold.

    The base fee and its threshold; if it never moves, the priority fee and its own 90th
    percentile, since such a base fee equals its threshold for ever. None if a value is
    missing, or too few are stored.
    """
    if is_flat(readings.known_window):
        if len(priority.window) < SMALLEST_FLAT_WINDOW:
            return None
        threshold = priority.window.percentile(BUSY_PERCENTILE)
        return FeeGrounds(Signal.PRIORITY_FEE, priority.medium, threshold)
    return _measure_base_fee(readings)


def is_flat(known_window: RankedFees) -> bool:
    """Whether the whole known window has one value, and holds enough to say so."""
    return len(known_window) >= SMALLEST_FLAT_WINDOW and known_window.is_constant


def _measure_base_fee(readings: BaseFeeReadings) -> FeeGrounds | None:
    if readings.estimated_base_fee is None or readings.busy_threshold is None:
        return None
    return FeeGrounds(Signal.BASE_FEE, readings.estimated_base_fee, readings.busy_threshold)


def conclude_busyness(
    conclusions: Conclusions, grounds: FeeGrounds | None, now: datetime, pause: timedelta
) -> None:
    """Conclude whether a busy spell lasts, from one more value; None if none can be judged.

    Without one for longer than `pause` it is not known.
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
