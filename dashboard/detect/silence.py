"""Conclude whether an API is silent, what was not covered, and if a hash was rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.detect.condition_start_end import Conclusions
from dashboard.domain.alerts.condition import Reading, State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.upstream import SilenceGrounds
from dashboard.domain.health.coverage import SHORTEST_GAP, CoverageChange, Covered, Gap, GapCause
from dashboard.domain.health.observation import ExclusionAnswer, Operation

STALE_AFTER_PERIODS: Final = 2
"""A figure is stale when it is older than this many of its own poll periods."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that an API fails to answer: since when, when it failed last, and why."""

    failing_since: datetime
    last_failed_at: datetime
    message: str

    @property
    def failed_for(self) -> timedelta:
        """The time between the first failure and the latest; none after a single one."""
        return self.last_failed_at - self.failing_since


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that was answered: when last, and how often it is asked.

    With `was_answered` off it never was: `answered_at` is since when an answer is awaited.
    """

    operation: Operation
    answered_at: datetime
    period: timedelta
    was_answered: bool = True

    @property
    def stale_from(self) -> datetime:
        """The moment from which the answer is too old."""
        return self.answered_at + STALE_AFTER_PERIODS * self.period


@dataclass(frozen=True, slots=True)
class GasReadings:
    """What the store says at one moment of who answers for the fees of a network.

    `unanswered` is the question for suggested fees while it fails, and `answered_at` the last
    answer of its source to any question. `answered` are the questions whose answers age, and
    suggested fees were answered last at `fees_at`, by whichever source.
    """

    at: datetime
    watching_since: datetime
    unanswered: Unanswered | None
    answered_at: datetime | None
    answered: Sequence[Answered]
    fees_at: datetime | None


def conclude_gas(conclusions: Conclusions, readings: GasReadings) -> None:
    """Conclude whether the source of fees is silent, and whether fees are stale."""
    unanswered, now = readings.unanswered, readings.at
    silence = detect_silence(unanswered, readings.answered_at, readings.watching_since, now)
    conclusions.conclude(SubjectKind.GAS_API, silence)
    silent_since = None
    if unanswered is not None and (silence is None or silence.is_trouble):
        silent_since = unanswered.failing_since
    elif conclusions.state(SubjectKind.GAS_API) is State.SILENT:  # not all is back yet
        silent_since = conclusions.held[SubjectKind.GAS_API].since
    staleness = detect_staleness(readings.answered, silent_since, now)
    conclusions.conclude(SubjectKind.FEES, staleness)


def conclude_exclusion_silence(
    conclusions: Conclusions, unanswered: Unanswered | None, watching_since: datetime, now: datetime
) -> None:
    """Conclude whether the exclusion API is silent; one that was never asked is not.

    It may be asked rarely, so silence is reported only where failures themselves span the pending
    time: after a single one, time that passes shows nothing.
    """
    kind, reading = SubjectKind.EXCLUSION_API, None
    if unanswered is None:
        if conclusions.state(kind) is not None:
            reading = Reading(is_trouble=False, at=now)
    elif unanswered.failed_for >= conclusions.rules.of(kind).pending:
        reading = detect_silence(unanswered, None, watching_since, now)
    conclusions.conclude(kind, reading)


def detect_silence(
    unanswered: Unanswered | None,
    answered_at: datetime | None,
    watching_since: datetime,
    now: datetime,
) -> Reading | None:
    """Return whether an API answers nothing, `answered_at` being its last answer to anything.

    One answer after the first failure shows that it does answer. A failure from before
    `watching_since` says nothing of now: None until the question was asked again.
    """
    if unanswered is None:
        return None if answered_at is None else Reading(is_trouble=False, at=now)
    since = unanswered.failing_since
    if answered_at is not None and answered_at > since:
        return Reading(is_trouble=False, at=now)
    if unanswered.last_failed_at < watching_since:
        return None
    grounds = SilenceGrounds(since, unanswered.message)
    return Reading(is_trouble=True, at=now, since=since, grounds=grounds)


def detect_staleness(
    answered: Sequence[Answered], silent_since: datetime | None, now: datetime
) -> Reading | None:
    """Return whether a figure is older than two of its own poll periods; None for no figures.

    What became too old since its source fell silent is reported by that silence: None, so that
    it is neither reported twice nor taken for fresh.
    """
    if not answered:
        return None
    stale = sorted(
        (each for each in answered if now > each.stale_from), key=lambda each: each.stale_from
    )
    if not stale:
        return Reading(is_trouble=False, at=now)
    own = [each for each in stale if silent_since is None or each.answered_at > silent_since]
    if not own:
        return None
    oldest = own[0]
    answered_at = oldest.answered_at if oldest.was_answered else None
    grounds = AgeGrounds(oldest.operation, answered_at, oldest.period)
    return Reading(is_trouble=True, at=now, since=oldest.stale_from, grounds=grounds)


@dataclass(frozen=True, slots=True)
class Look:
    """A moment at which a worker is at work.

    `since_last` is the time that passed since the same worker's last look, by a clock that never
    jumps; None at its first. `failing_since` is None where somebody answers.
    """

    at: datetime
    since_last: timedelta | None = None
    failing_since: datetime | None = None
    reason: str = ""


def conclude_coverage(before: Covered, look: Look) -> CoverageChange:
    """Return what a look changes.

    Only at a worker's first look does the time of day show for how long nobody looked; one that
    was set back shows nothing, so no gap is invented.
    """
    seen_at = before.until if look.since_last is None else look.at - look.since_last
    ended = before.unseen(seen_at, look.at)
    if not ended:
        return _hear(replace(before, until=look.at), look)
    after = _hear(Covered(before.network_id, before.watched, look.at, look.at), look)
    return replace(after, ended=(*ended, *after.ended))


def _hear(covered: Covered, look: Look) -> CoverageChange:
    """Open a gap where nobody has answered for long, and end the one that is open otherwise."""
    silence, failing_since = covered.silence, look.failing_since
    if silence is not None:
        if failing_since is not None and failing_since <= silence.begins_at:
            return CoverageChange(covered)
        after = _hear(replace(covered, silence=None), look)
        return replace(after, ended=(silence.ended(failing_since or look.at),))
    if failing_since is None:
        return CoverageChange(covered)
    begins_at = max(failing_since, covered.since)
    if look.at - begins_at < SHORTEST_GAP:
        return CoverageChange(covered)
    opened = Gap(
        covered.network_id, covered.watched, begins_at, None, GapCause.NOT_ANSWERED, look.reason
    )
    return CoverageChange(replace(covered, silence=opened))


def conclude_exclusion(
    subject: Subject, before: State | None, answer: ExclusionAnswer, at: datetime, new_id: UUID
) -> Transition | None:
    """Return the change that the answer brings at the moment `at`, or None where it brings none.

    Only a record changes anything: a failure says nothing, and null is stored of no single hash.
    Null after a rejection does not clear it: the record left the seven days, or another store
    answered. A record after a rejection changes it, from rejected to rejected; whether this
    version is new, the store knows.
    """
    if answer.record is None:
        return None
    return Transition(new_id, subject, before, State.REJECTED, at)
