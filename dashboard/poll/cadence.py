"""When to ask again, and what that costs: transactions often while young, ever less as they age.

The chance of a new record falls with age, roughly as a power of it. Calls in proportion to the
square root of that chance find records soonest for their number, which gives intervals that grow
as a power of the age: half its 0.75th power is some 222 questions in seven days.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.domain.health.observation import Operation
from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW, REPORTING_DELAY

_GROWTH: Final = 0.75


@dataclass(frozen=True, slots=True)
class CadencePolicy:
    """How densely to ask.

    An interval is `factor` x age^0.75 seconds, with `rejected_factor` in its place once a record
    was seen (it still may change), and never below `shortest_interval`. A question that got no
    answer is put again after `longest_retry` at the latest, a last one after `late_retry`.
    `last_age` is that of the last question: a record is dated at most two hours after the
    attempt and answered for seven days.
    """

    shortest_interval: timedelta
    factor: float = 0.5
    rejected_factor: float = 4.0
    longest_retry: timedelta = timedelta(seconds=15)
    late_retry: timedelta = timedelta(hours=1)
    last_age: timedelta = QUERYABLE_WINDOW + REPORTING_DELAY


SELDOM: Final = CadencePolicy(
    shortest_interval=timedelta(days=1),
    longest_retry=timedelta(days=1),
    late_retry=timedelta(days=1),
)
"""How often to ask about what was first seen after line limits ended: it may be older than known,
and the end may have been put off."""


def next_check(
    age: timedelta, policy: CadencePolicy, *, is_rejected: bool = False
) -> timedelta | None:
    """Return how long to wait after a question at `age`; None when that was the last one.

    The last question falls exactly on `policy.last_age`. A negative age (a clock that was set
    back) counts as zero.
    """
    if age >= policy.last_age:
        return None
    factor = policy.rejected_factor if is_rejected else policy.factor
    wait = timedelta(seconds=factor * max(0.0, age.total_seconds()) ** _GROWTH)
    return min(max(policy.shortest_interval, wait), policy.last_age - age)


def next_try(age: timedelta, policy: CadencePolicy) -> timedelta:
    """Return how long to wait after a question at `age` that got no answer."""
    wait = next_check(age, policy)
    return policy.late_retry if wait is None else min(wait, policy.longest_retry)


@dataclass(frozen=True, slots=True)
class GasPeriods:
    """How often each operation is asked; the job runs every `gas_period`."""

    gas_period: timedelta
    history_period: timedelta
    threshold_period: timedelta

    def of_operations(self) -> tuple[tuple[Operation, timedelta], ...]:
        """Return the period of each operation."""
        return (
            (Operation.SUGGESTED_GAS_FEES, self.gas_period),
            (Operation.BUSY_THRESHOLD, self.threshold_period),
            (Operation.BASE_FEE_PERCENTILE, self.threshold_period),
            (Operation.BASE_FEE_HISTORY, self.history_period),
        )


_DAY: Final = timedelta(days=1)


def gas_calls_per_day(periods: GasPeriods) -> int:
    """Return how often the four operations are asked in a day."""
    return sum(-(-_DAY // period) for _, period in periods.of_operations())


def calls_per_transaction(policy: CadencePolicy) -> int:
    """Return how often one transaction is asked about that stays without a record."""
    calls, age = 0, timedelta()
    wait: timedelta | None = timedelta()
    while wait is not None:
        calls, age = calls + 1, age + wait
        wait = next_check(age, policy)
    return calls
