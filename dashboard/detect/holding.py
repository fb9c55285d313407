"""Hold a condition until the opposite was seen for long enough."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.domain.condition import Condition, State, Subject, SubjectKind, Transition
from dashboard.domain.grounds import Grounds

_STATES: Final = {
    SubjectKind.BUSYNESS: (State.CALM, State.BUSY),
    SubjectKind.FEES: (State.FRESH, State.STALE),
    SubjectKind.GAS_API: (State.ANSWERING, State.SILENT),
    SubjectKind.EXCLUSION_API: (State.ANSWERING, State.SILENT),
    SubjectKind.DISK: (State.ROOMY, State.LOW_ON_SPACE),
}
"""The closed and the open state of each kind of subject that is held."""


@dataclass(frozen=True, slots=True)
class HoldRule:
    """How long trouble must be seen before an incident opens, and its absence before it closes."""

    pending: timedelta
    keep_firing: timedelta = timedelta()


_BUSY: Final = HoldRule(timedelta(minutes=1), timedelta(minutes=5))
_SILENCE: Final = HoldRule(timedelta(minutes=2), timedelta(minutes=1))
_STALENESS: Final = HoldRule(timedelta(minutes=5))


@dataclass(frozen=True, slots=True)
class ConditionRules:
    """How long each kind of trouble is seen before it is told, and gone before that is told."""

    busy: HoldRule = _BUSY
    silence: HoldRule = _SILENCE
    staleness: HoldRule = _STALENESS

    def of(self, kind: SubjectKind) -> HoldRule:
        """Return the rule of a kind of condition."""
        if kind is SubjectKind.BUSYNESS:
            return self.busy
        return self.staleness if kind is SubjectKind.FEES else self.silence


@dataclass(frozen=True, slots=True)
class Reading:
    """What was seen of a subject at one moment, and since when, where that is known."""

    is_trouble: bool
    at: datetime
    since: datetime | None = None
    grounds: Grounds | None = None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What becomes of a condition: a transition, or since when the opposite is seen."""

    transition: Transition | None = None
    turning_since: datetime | None = None


def conclude(
    subject: Subject, before: Condition | None, sight: Reading | None, rule: HoldRule, new_id: UUID
) -> Conclusion:
    """Return what a sight changes; without a sight nothing does, and waiting begins anew.

    A subject of which nothing was held begins without an incident. Where the clock was set
    back, waiting begins anew.
    """
    if sight is None:
        return Conclusion()
    closed, opened = _STATES[subject.kind]
    state = closed if before is None else before.state
    after = opened if sight.is_trouble else closed
    since = None
    if after is not state:
        since = _turning_since(before, sight)
        wait = rule.pending if sight.is_trouble else rule.keep_firing
        if sight.at - since >= wait:
            state, since = after, None
    if before is not None and state is before.state:
        return Conclusion(turning_since=since)
    held = None if before is None else before.state
    return Conclusion(Transition(new_id, subject, held, state, sight.at, sight.grounds), since)


def _turning_since(before: Condition | None, sight: Reading) -> datetime:
    """Return since when the opposite is seen; a beginning after the sight itself is passed over."""
    noted = None if before is None else before.turning_since
    if sight.since is not None and sight.since <= sight.at:
        noted = sight.since
    return sight.at if noted is None else min(noted, sight.at)
