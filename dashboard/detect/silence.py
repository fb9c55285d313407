"""Conclude whether an API is silent, and whether what it told is too old to go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dashboard.detect.holding import Reading
from dashboard.domain.grounds import AgeGrounds, SilenceGrounds
from dashboard.domain.observation import Operation

STALE_AFTER_PERIODS: Final = 2
"""A figure is stale when it is older than this many of its own poll periods."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that an API does not answer: since when, when it was put last, and why."""

    failing_since: datetime
    last_failed_at: datetime
    message: str

    @property
    def failed_for(self) -> timedelta:
        """The time between the first failure and the latest; none after a single one."""
        return self.last_failed_at - self.failing_since


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that was answered: when last, and how often it is put.

    With `was_answered` off it never was: `answered_at` is since when it is waited for.
    """

    operation: Operation
    answered_at: datetime
    period: timedelta
    was_answered: bool = True

    @property
    def stale_from(self) -> datetime:
        """The moment from which the answer is too old."""
        return self.answered_at + STALE_AFTER_PERIODS * self.period


def detect_silence(
    unanswered: Unanswered | None,
    answered_at: datetime | None,
    watching_since: datetime,
    now: datetime,
) -> Reading | None:
    """Return whether an API answers nothing, `answered_at` being its last answer to anything.

    One answer after the first failure shows that it does answer. A failure from before we were
    watching says nothing of now: None until the question was put again.
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

    What is too old since its source fell silent is told by that silence: None, so that it is
    neither told twice nor taken for fresh.
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
