"""Conclude whether an API has an outage, and what was not watched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.detect.start_and_end_of_conditions import Conclusions
from dashboard.domain.alerts.condition import (
    Condition,
    Reading,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.limits_end import EndGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.table import JUDGED
from dashboard.domain.alerts.kinds.upstream import OutageGrounds, UnaskedGrounds
from dashboard.domain.health.coverage import SHORTEST_GAP, CoverageChange, Covered, Gap, GapCause
from dashboard.domain.health.observation import Operation
from dashboard.domain.rejections.line_limits import LimitsEnd

STALE_AFTER_PERIODS: Final = 2
"""A figure is stale when it is older than this many of its own poll periods."""


class Unanswered(Struct, frozen=True):
    """A question that an API fails to answer: since when, when it failed last, and why."""

    failing_since: datetime
    last_failed_at: datetime
    message: str

    @property
    def failed_for(self) -> timedelta:
        """The time between the first failure and the latest; zero after a single one."""
        return self.last_failed_at - self.failing_since


class Answered(Struct, frozen=True):
    """A question, when it was last answered, and how often it is asked.

    Unless `was_answered`, it never was, and `answered_at` is since when we have waited for an
    answer.
    """

    operation: Operation
    answered_at: datetime
    period: timedelta
    was_answered: bool = True

    @property
    def stale_from(self) -> datetime:
        return self.answered_at + STALE_AFTER_PERIODS * self.period


class GasReadings(Struct, frozen=True):
    """What the store says at one moment about the source of a network's fees.

    `unanswered` is the question for suggested fees while it fails; `answered_at` is the last answer
    of the source to any question. `answered` are the questions whose answers can become stale.
    """

    at: datetime
    watching_since: datetime
    unanswered: Unanswered | None
    answered_at: datetime | None
    answered: Sequence[Answered]


def conclude_gas(conclusions: Conclusions, readings: GasReadings) -> None:
    """Conclude whether the source of fees has an outage, and whether fees are stale."""
    unanswered, now = readings.unanswered, readings.at
    outage = detect_outage(unanswered, readings.answered_at, readings.watching_since, now)
    conclusions.conclude(SubjectKind.GAS_API, outage)
    outage_since = None
    if unanswered is not None and (outage is None or outage.is_trouble):
        outage_since = unanswered.failing_since
    elif (
        conclusions.state(SubjectKind.GAS_API) is State.SILENT
    ):  # not every question is answered yet
        outage_since = conclusions.held[SubjectKind.GAS_API].since
    staleness = detect_staleness(readings.answered, outage_since, now)
    conclusions.conclude(SubjectKind.FEES, staleness)


def conclude_exclusion_outage(
    conclusions: Conclusions, unanswered: Unanswered | None, watching_since: datetime, now: datetime
) -> None:
    """Conclude whether the exclusion API has an outage; it has none if it was never asked.

    The API may be asked rarely, so an outage needs failures over the whole pending time: after a
    single failure, the time that passes proves nothing. Once line limits have ended, no answer is
    no outage.
    """
    kind, reading = SubjectKind.EXCLUSION_API, None
    limits = conclusions.held.get(SubjectKind.LINE_LIMITS)
    if limits is not None and limits.state is State.NO_LINE_LIMITS:
        if conclusions.state(kind) is State.SILENT:
            _change(conclusions, kind, State.ANSWERING, now, EndGrounds(limits.since))
        return
    if unanswered is None:
        if conclusions.state(kind) is not None:
            reading = Reading(is_trouble=False, at=now)
    elif unanswered.failed_for >= conclusions.rules.of(kind).pending:
        reading = detect_outage(unanswered, None, watching_since, now)
    conclusions.conclude(kind, reading)


def conclude_unasked(conclusions: Conclusions, now: datetime) -> None:
    """End the outage of an exclusion API that is asked nothing any more: no answer would end it."""
    if conclusions.state(SubjectKind.EXCLUSION_API) is State.SILENT:
        _change(conclusions, SubjectKind.EXCLUSION_API, State.ANSWERING, now, UnaskedGrounds(now))


def end_unwatched(subject: Subject, before: State, now: datetime, new_id: UUID) -> Transition:
    """End what lasts on a network, or an API of it, that the settings no longer name.

    Nobody would see its end. Whether a network is busy is unknown from then on.
    """
    if subject.kind is SubjectKind.BUSYNESS:
        return Transition(new_id, subject, before, State.UNKNOWN, now)
    closed = JUDGED[subject.kind].closed
    return Transition(new_id, subject, before, closed, now, UnaskedGrounds(now), now)


def conclude_line_limits(
    conclusions: Conclusions, end: LimitsEnd | None, now: datetime
) -> datetime | None:
    """Conclude whether line limits have ended, and return when they did.

    Setting the clock back does not restore them; another end in the settings does.
    """
    kind = SubjectKind.LINE_LIMITS
    held = conclusions.held.get(kind)
    ended_before = held is not None and held.state is State.NO_LINE_LIMITS
    ended_at = None if end is None else end.ended_at(now)
    if end is not None and held is not None and ended_before and end.ended_at(held.since):
        ended_at = held.since
    if ended_at is not None and not ended_before:
        grounds = EndGrounds(ended_at, None if end is None else end.block_number)
        _change(conclusions, kind, State.NO_LINE_LIMITS, now, grounds)
    elif ended_at is None and ended_before:
        _change(conclusions, kind, State.LINE_LIMITS, now, None)
    return ended_at


def _change(
    conclusions: Conclusions,
    kind: SubjectKind,
    after: State,
    at: datetime,
    grounds: EndGrounds | UnaskedGrounds | None,
) -> None:
    """Change a state: from the end of line limits if it is about these, otherwise from `at`."""
    since = at
    if isinstance(grounds, EndGrounds) and kind is SubjectKind.LINE_LIMITS:
        since = grounds.ended_at
    conclusions.change(kind, after, at, grounds, since)
    conclusions.held[kind] = Condition(after, since)


def detect_outage(
    unanswered: Unanswered | None,
    answered_at: datetime | None,
    watching_since: datetime,
    now: datetime,
) -> Reading | None:
    """Return whether an API answers nothing; `answered_at` is its last answer to any question.

    One answer after the first failure shows that the API works. A failure before `watching_since`
    says nothing about now: the result is None until the question is asked again.
    """
    if unanswered is None:
        return None if answered_at is None else Reading(is_trouble=False, at=now)
    since = unanswered.failing_since
    if answered_at is not None and answered_at > since:
        return Reading(is_trouble=False, at=now)
    if unanswered.last_failed_at < watching_since:
        return None
    grounds = OutageGrounds(since, unanswered.message)
    return Reading(is_trouble=True, at=now, since=since, grounds=grounds)


def detect_staleness(
    answered: Sequence[Answered], outage_since: datetime | None, now: datetime
) -> Reading | None:
    """Return whether any answer is older than two of its poll periods; None if there are none.

    An answer that became stale during an outage of its source is reported with the outage: the
    result is None, so that it is neither reported twice nor taken for fresh.
    """
    if not answered:
        return None
    stale = sorted(
        (each for each in answered if now > each.stale_from), key=lambda each: each.stale_from
    )
    if not stale:
        return Reading(is_trouble=False, at=now)
    own = [each for each in stale if outage_since is None or each.answered_at > outage_since]
    if not own:
        return None
    oldest = own[0]
    answered_at = oldest.answered_at if oldest.was_answered else None
    grounds = AgeGrounds(oldest.operation, answered_at, oldest.period)
    return Reading(is_trouble=True, at=now, since=oldest.stale_from, grounds=grounds)


class Visit(Struct, frozen=True):
    """A moment at which a worker checks what it watches.

    `since_last` is the time since the same worker's last visit, by a monotonic clock; None at its
    first. `failing_since` is None if somebody answers.
    """

    at: datetime
    since_last: timedelta | None = None
    failing_since: datetime | None = None
    reason: str = ""


def conclude_coverage(before: Covered, visit: Visit) -> CoverageChange:
    """Return the coverage after a visit.

    Only at its first visit does a worker use the time of day to see how long nobody watched; if the
    clock was set back, it sees no time at all, so no gap is invented.
    """
    seen_at = before.until if visit.since_last is None else visit.at - visit.since_last
    ended = before.unseen(seen_at, visit.at)
    if not ended:
        return _follow_gap(replace(before, until=visit.at), visit)
    after = _follow_gap(Covered(before.network_id, before.watched, visit.at, visit.at), visit)
    return replace(after, ended=(*ended, *after.ended))


def _follow_gap(covered: Covered, visit: Visit) -> CoverageChange:
    """Open a gap if nobody has answered for long, or end an open one if somebody does."""
    open_gap, failing_since = covered.open_gap, visit.failing_since
    if open_gap is not None:
        if failing_since is not None and failing_since <= open_gap.begins_at:
            return CoverageChange(covered)
        after = _follow_gap(replace(covered, open_gap=None), visit)
        return replace(after, ended=(open_gap.ended(failing_since or visit.at),))
    if failing_since is None:
        return CoverageChange(covered)
    begins_at = max(failing_since, covered.since)
    if visit.at - begins_at < SHORTEST_GAP:
        return CoverageChange(covered)
    opened = Gap(
        covered.network_id, covered.watched, begins_at, None, GapCause.NOT_ANSWERED, visit.reason
    )
    return CoverageChange(replace(covered, open_gap=opened))
