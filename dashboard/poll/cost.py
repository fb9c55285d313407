"""What watching costs where an upstream counts calls: per day, and for each tracked transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.poll.gas import GasPeriods
from dashboard.poll.next_check import CadencePolicy, next_check

CREDITS_PER_CALL: Final = 80
"""What the hosted gateway charges for one call of either API, as its price list has it."""

FREE_CREDITS: Final = 3_000_000
"""What its free plan has for one day."""

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls that one network costs at its cadence while everything answers.

    `gas_calls` are those of a day. `calls_per_transaction` are those about one transaction that
    is never rejected, over all the days that it is followed.
    """

    gas_calls: int = 0
    calls_per_transaction: int = 0

    @property
    def gas_credits(self) -> int:
        """The credits of a day."""
        return self.gas_calls * CREDITS_PER_CALL

    @property
    def credits_per_transaction(self) -> int:
        """The credits of one tracked transaction, all in all."""
        return self.calls_per_transaction * CREDITS_PER_CALL


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
