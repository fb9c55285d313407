"""When a notice that could not be handed over is tried again, and when it is given up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.domain.notice import Notice


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Waits double from `first_wait` to `longest_wait`.

    A notice is given up when it is older than `patience`, but never before `fewest_attempts`:
    a clock that jumps ahead by a week must not end what is owed.
    """

    first_wait: timedelta = timedelta(seconds=15)
    longest_wait: timedelta = timedelta(hours=1)
    patience: timedelta = timedelta(days=7)
    fewest_attempts: int = 16


def next_attempt(notice: Notice, now: datetime, rule: RetryRule) -> datetime | None:
    """Return when to try again after the attempt that just failed; None to give up."""
    attempts = notice.attempts + 1
    if attempts >= rule.fewest_attempts and now - notice.created_at >= rule.patience:
        return None
    doublings = min(attempts - 1, rule.fewest_attempts)
    return now + min(rule.first_wait * (1 << doublings), rule.longest_wait)
