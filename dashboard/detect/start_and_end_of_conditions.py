"""Conclude conditions: how long trouble must last to start one, and be gone to end it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.condition import (
    Condition,
    Grounds,
    Reading,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.table import JUDGED
from dashboard.domain.fees.busy_spells import HoldPeriods, SpellState
from dashboard.domain.quantity import NetworkId

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
