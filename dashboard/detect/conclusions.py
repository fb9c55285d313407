"""Conclude conditions: whether a network is busy, and when that starts and ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.domain.alerts.condition import (
    Condition,
    Grounds,
    Reading,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.table import JUDGED
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.fees.spells import HoldPeriods, JudgedValue, SpellState, follow
from dashboard.domain.quantity import NetworkId, Wei

_BUSY: Final = HoldPeriods(timedelta(minutes=1), timedelta(minutes=5))
_OUTAGE: Final = HoldPeriods(timedelta(minutes=2), timedelta(minutes=1))
_STALENESS: Final = HoldPeriods(timedelta(minutes=5))


class ConditionRules(Struct, frozen=True):
    """How long each kind of trouble must last to open an incident, and be gone to close it."""

    busy: HoldPeriods = _BUSY
    outage: HoldPeriods = _OUTAGE
    staleness: HoldPeriods = _STALENESS

    def of(self, kind: SubjectKind) -> HoldPeriods:
        """Return the hold periods for a kind of condition."""
        if kind is SubjectKind.BUSYNESS:
            return self.busy
        return self.staleness if kind is SubjectKind.FEES else self.outage


def spell_state(held: Condition | None, at: datetime) -> SpellState | None:
    """Convert a stored condition; `at` stands in if the time of the last value was not stored."""
    if held is None:
        return None
    is_within = None if held.state is State.UNKNOWN else held.state.is_open
    return SpellState(is_within, held.since, held.seen_at or at, held.turning_since)


def condition_of(kind: SubjectKind, state: SpellState) -> Condition:
    """Convert a spell state to a condition of busyness or of a fee limit."""
    judged = JUDGED[kind]
    known = judged.opened if state.is_within else judged.closed
    after = State.UNKNOWN if state.is_within is None else known
    return Condition(after, state.since, state.turning_since, state.seen_at)


class Conclusion(Struct, frozen=True):
    """The condition of a subject before and after a reading, and the transition if it changed."""

    subject: Subject
    before: Condition | None
    condition: Condition | None
    transition: Transition | None = None

    @property
    def turning_since(self) -> datetime | None:
        """Since when the opposite has been seen; None if it is not."""
        return None if self.condition is None else self.condition.turning_since

    @property
    def changes_stored(self) -> bool:
        """Whether the store must be updated."""
        noted = None if self.before is None else self.before.turning_since
        return self.transition is not None or self.turning_since != noted


def conclude(
    subject: Subject,
    before: Condition | None,
    reading: Reading | None,
    rule: HoldPeriods,
    new_id: UUID,
) -> Conclusion:
    """Return what a reading changes; None changes nothing, but waiting starts again.

    A subject without a stored condition starts closed. A change is dated from its beginning, not
    from when it had lasted long enough. If the clock was set back, waiting starts again.
    """
    if reading is None:
        after_all = None if before is None else replace(before, turning_since=None)
        return Conclusion(subject, before, after_all)
    judged = JUDGED[subject.kind]
    state = judged.closed if before is None else before.state
    after = judged.opened if reading.is_trouble else judged.closed
    since: datetime | None = None
    began_at = reading.at
    if after is not state:
        since = turning = _turning_since(before, reading)
        wait = rule.pending if reading.is_trouble else rule.keep_firing
        if reading.at - turning >= wait:
            state, since, began_at = after, None, turning
    if before is not None and state is before.state:
        return Conclusion(subject, before, replace(before, turning_since=since))
    earlier = None if before is None else before.state
    transition = Transition(new_id, subject, earlier, state, reading.at, reading.grounds, began_at)
    return Conclusion(subject, before, Condition(state, began_at, since), transition)


def _turning_since(before: Condition | None, reading: Reading) -> datetime:
    """Return since when the opposite has been seen; a beginning after the reading is ignored."""
    noted = None if before is None else before.turning_since
    if reading.since is not None and reading.since <= reading.at:
        noted = reading.since
    return reading.at if noted is None else min(noted, reading.at)


class Conclusions:
    """The conditions of one network while readings are concluded one after the other.

    `held` starts with the stored conditions and is updated here, but not stored. `new_id` creates
    the id of each transition.
    """

    def __init__(
        self,
        network_id: NetworkId,
        held: Mapping[SubjectKind, Condition],
        rules: ConditionRules,
        new_id: Callable[[], UUID],
    ) -> None:
        """Start with the stored conditions."""
        self.network_id = network_id
        self.held = dict(held)
        self.rules = rules
        self.transitions: list[Transition] = []
        self._new_id = new_id

    def state(self, kind: SubjectKind) -> State | None:
        """Return the latest state of a kind of condition, None if there is none."""
        found = self.held.get(kind)
        return None if found is None else found.state

    def change(
        self,
        kind: SubjectKind,
        after: State,
        at: datetime,
        grounds: Grounds | None,
        since: datetime,
    ) -> None:
        """Add the transition to a state that the caller concluded; `held` stays as it is."""
        subject, before = Subject(kind, self.network_id), self.state(kind)
        self.transitions.append(
            Transition(self._new_id(), subject, before, after, at, grounds, since)
        )

    def conclude(self, kind: SubjectKind, reading: Reading | None) -> None:
        """Conclude a reading of one kind of condition."""
        subject = Subject(kind, self.network_id)
        rule = self.rules.of(kind)
        concluded = conclude(subject, self.held.get(kind), reading, rule, self._new_id())
        if concluded.condition is not None:
            self.held[kind] = concluded.condition
        if concluded.transition is not None:
            self.transitions.append(concluded.transition)


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
