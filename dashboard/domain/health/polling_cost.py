"""What polling a network costs, in calls and in credits of a hosted gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CREDITS_PER_CALL: Final = 80
"""What the hosted gateway charges for one call of either API, as its price list has it."""

FREE_CREDITS: Final = 3_000_000
"""What its free plan has for one day."""


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
