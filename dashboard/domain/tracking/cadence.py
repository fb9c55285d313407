"""When to ask about a tracked transaction, how many calls that takes, and how late news is seen.

The chance that a record appears falls with age, roughly as a power of it. For a given number of
calls, records are found soonest if calls are proportional to the square root of that chance, which
gives intervals that grow like the 0.75th power of the age. So the fourth root of the age grows by
equal steps from one check to the next, and the number of calls alone determines the step. If news
is unlikely, steps are longer; if it becomes likely, the age starts anew for a while.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Final

from msgspec import Struct

from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW, REPORTING_DELAY

_AHEAD: Final = 5.0
"""Seconds added to an age, so that the first intervals last about two seconds instead of zero."""

_LAST_INTERVAL: Final = 1.5
"""If less than half an interval would remain before the last check, this one is skipped."""

SOONEST: Final = timedelta(seconds=2)
"""How long a node takes to reject a transaction and report that: asking earlier finds nothing."""


RENEWED_FOR: Final = timedelta(hours=1)
MOST_RENEWALS: Final = 4
"""A program that looks a transaction up all the time at most about doubles its calls."""


class CadencePolicy(Struct, frozen=True):
    """How often to ask.

    A transaction without a record is asked about at most `calls` times. Once a record was seen,
    which may still change, steps are `rejected_stretch` times as long; also while only the API
    claims that the transaction is in a block. Once a node confirms the block, steps are
    `included_stretch` times as long, apart from a question two hours after the attempt, when late
    reports are in: this one, two later ones and the last remain. No interval is below
    `shortest_interval`. A question without an answer is retried after `longest_retry` at the
    latest, the last one after `late_retry`. `last_age` is the age at the last question: a record is
    dated at most two hours after the attempt, and answered for seven days.

    If somebody tracks the transaction again or looks it up, or its sender has just been rejected,
    the age starts anew for `RENEWED_FOR`, at most `MOST_RENEWALS` times, and not once it is in a
    block. The last question stays where it was.
    """

    calls: int = 220
    shortest_interval: timedelta = timedelta()
    rejected_stretch: float = 8.0
    included_stretch: float = 64.0
    longest_retry: timedelta = timedelta(seconds=15)
    late_retry: timedelta = timedelta(hours=1)
    last_age: timedelta = QUERYABLE_WINDOW + REPORTING_DELAY


SELDOM: Final = CadencePolicy(
    calls=1000,
    shortest_interval=timedelta(days=1),
    longest_retry=timedelta(days=1),
    late_retry=timedelta(days=1),
)
"""The cadence for transactions first seen after line limits ended: they may be older than we know,
and the end may have been postponed."""

FOLLOW_UP_CADENCE: Final = CadencePolicy(
    calls=155,
    shortest_interval=timedelta(seconds=15),
    last_age=timedelta(days=30),
)
"""Some 150 questions to a node, in the thirty days for which an open transaction is followed."""


def next_check(
    age: timedelta,
    policy: CadencePolicy,
    *,
    is_rejected: bool = False,
    is_included: bool = False,
    renewed: timedelta | None = None,
) -> timedelta | None:
    """Return how long to wait after a question at `age`; None if that was the last one.

    The last question falls exactly on `policy.last_age`. `renewed` is the age since it started
    anew. A negative age (a clock that was set back) counts as zero.
    """
    if age >= policy.last_age:
        return None
    left = policy.last_age - max(age, timedelta())
    if renewed is not None and renewed < RENEWED_FOR and not is_included:
        age = min(age, renewed)
    age = max(age, timedelta())
    whole = _root(policy.last_age) - _root(timedelta())
    stretch = 1.0
    if is_included:
        stretch = policy.included_stretch
    elif is_rejected:
        stretch = policy.rejected_stretch
    root = min(_root(age) + whole / (policy.calls - 1) * stretch, _root(policy.last_age))
    wait = timedelta(seconds=root**4 - _AHEAD) - age
    if is_included and age < REPORTING_DELAY:
        wait = min(wait, REPORTING_DELAY - age)
    wait = max(policy.shortest_interval, wait)
    return left if left < _LAST_INTERVAL * wait else wait


def next_try(age: timedelta, policy: CadencePolicy) -> timedelta:
    """Return how long to wait before retrying a question at `age` that got no answer."""
    wait = next_check(age, policy)
    return policy.late_retry if wait is None else min(wait, policy.longest_retry)


def _root(age: timedelta) -> float:
    return float((age.total_seconds() + _AHEAD) ** 0.25)


@lru_cache(maxsize=256)
def check_ages(
    policy: CadencePolicy, *, is_rejected: bool = False, included_after: timedelta | None = None
) -> Sequence[timedelta]:
    """Return the ages at which one transaction is asked about if everything answers.

    `included_after` is the age at which it was first seen in a block, None for never.
    """
    ages = [timedelta()]
    while True:
        is_included = included_after is not None and ages[-1] >= included_after
        wait = next_check(ages[-1], policy, is_rejected=is_rejected, is_included=is_included)
        if wait is None:
            return tuple(ages)
        ages.append(ages[-1] + wait)


def calls_per_transaction(policy: CadencePolicy) -> int:
    """Return how many times a transaction without a record is asked about."""
    return len(check_ages(policy))


def calls_between(
    since: timedelta,
    until: timedelta,
    policy: CadencePolicy,
    *,
    is_rejected: bool = False,
    included_after: timedelta | None = None,
) -> int:
    """Return how many times a transaction is asked about after age `since` and up to `until`."""
    ages = check_ages(policy, is_rejected=is_rejected, included_after=included_after)
    return bisect_right(ages, until) - bisect_right(ages, since)


class DelayPart(Struct, frozen=True):
    """A share of all records, which appears between two ages, in seconds.

    Its density falls like age^-`power`: 0 is uniform, 1 is uniform on a logarithmic scale.
    """

    share: float
    since: float
    until: float
    power: float = 1.0

    def age_of(self, rank: float) -> float:
        """Return the quantile `rank` of the ages in this part, in seconds."""
        if self.power == 1.0:
            return float(self.since * (self.until / self.since) ** rank)
        power = 1.0 - self.power
        low, high = self.since**power, self.until**power
        return float((low + rank * (high - low)) ** (1.0 / power))


USUAL_DELAYS: Final = (
    DelayPart(0.70, 0.0, 5.0, 0.0),
    DelayPart(0.20, 5.0, 60.0),
    DelayPart(0.09, 60.0, 3600.0),
    DelayPart(0.01, 3600.0, 604_800.0),
)
"""An assumption of when records appear after the attempt: most at once, one in a hundred later than
an hour."""

_RANKS: Final = 400
"""Sample records of each part."""


class ExpectedDelay(Struct, frozen=True):
    """The time from the moment when a record can be seen to the check that sees it."""

    mean: timedelta
    p99: timedelta


@lru_cache(maxsize=64)
def expected_delay(
    policy: CadencePolicy, law: tuple[DelayPart, ...] = USUAL_DELAYS
) -> ExpectedDelay:
    """Return how late records are seen if every question is answered at once."""
    delays = sorted(_delays([each.total_seconds() for each in check_ages(policy)], law))
    mean = sum(delay * share for delay, share in delays)
    rest, late = 0.01, delays[-1][0]
    while delays and rest > 0:
        late, share = delays.pop()
        rest -= share
    return ExpectedDelay(timedelta(seconds=mean), timedelta(seconds=late))


def _delays(ages: Sequence[float], law: Sequence[DelayPart]) -> Iterator[tuple[float, float]]:
    """Yield delays, each with its share of all records."""
    for part in law:
        for number in range(_RANKS):
            at = part.age_of((number + 0.5) / _RANKS)
            yield ages[bisect_left(ages, at)] - at, part.share / _RANKS
