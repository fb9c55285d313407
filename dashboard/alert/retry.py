"""When a notice that could not be handed over is tried again, and when it is given up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.domain.notice import Notice


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Waits double from `first_wait` to `longest_wait`.

    A notice is given up when it is older than `patience`, but never before `fewest_attempts` of
    its own: neither a clock that jumps ahead by a week nor a server that is silent for as long
    may end what was hardly tried.
    """

    first_wait: timedelta = timedelta(seconds=15)
    longest_wait: timedelta = timedelta(hours=1)
    patience: timedelta = timedelta(days=7)
    fewest_attempts: int = 16


def next_attempt(notice: Notice, now: datetime, rule: RetryRule) -> datetime | None:
    """Return when to try again after the attempt that just failed; None to give up."""
    was_tried_enough = notice.attempts + 1 >= rule.fewest_attempts
    if was_tried_enough and now - notice.created_at >= rule.patience:
        return None
    return next_turn(notice, now, rule)


def next_turn(notice: Notice, now: datetime, rule: RetryRule) -> datetime:
    """Return when a notice has its turn again, whether it was tried now or only put off."""
    doublings = min(notice.attempts, rule.fewest_attempts)
    return now + min(rule.first_wait * (1 << doublings), rule.longest_wait)
