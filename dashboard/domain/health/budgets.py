"""Budgets: what one account of an upstream may spend, and how polls slow down to stay within it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import inf
from typing import Final

from msgspec import Struct, field

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.formatting import share, span
from dashboard.domain.health.observation import CREDITS_PER_CALL, bare_method

_LONGEST_STRETCH: Final = 1000.0
_ALL: Final = 100


class Budget(Struct, frozen=True):
    """What an account allows; 0 means no limit.

    A day and a month begin at midnight UTC. `reserve` percent of every limit is kept for look-ups
    by people. A call costs what `credits` says for its method, otherwise `credits_per_call`.
    """

    name: str
    credits_per_day: int = 0
    credits_per_month: int = 0
    requests_per_second: int = 0
    requests_at_once: int = 0
    reserve: int = 10
    credits_per_call: int = CREDITS_PER_CALL
    credits: Mapping[str, int] = field(default_factory=dict)

    def cost(self, method: str, calls: int = 1) -> int:
        return calls * self.credits.get(bare_method(method), self.credits_per_call)

    def limits(self, *, for_people: bool) -> dict[BudgetPeriod, int]:
        """Return how many credits people, or polls, may spend in each period."""
        whole = {
            BudgetPeriod.DAY: self.credits_per_day,
            BudgetPeriod.MONTH: self.credits_per_month,
        }
        kept = 0 if for_people else self.reserve
        return {period: limit * (_ALL - kept) // _ALL for period, limit in whole.items() if limit}

    def share(self, limit: int, *, for_people: bool) -> float:
        """Return which part of a limit on requests belongs to look-ups by people, or to polls.

        Without a reserve, each may use the whole limit, so that both together may exceed it.
        """
        of_people = limit * self.reserve / _ALL
        return (of_people or limit) if for_people else limit - of_people


USUAL: Final = Budget("")
"""The prices of the hosted gateway, for calls that no budget is charged for."""

FREE: Final = Budget("", credits_per_call=0)
"""For calls to our own serve, and to a node without a budget."""


class BudgetState(Struct, frozen=True):
    """The state of a budget; `spent` holds the credits of the current day and month.

    Polls wait `stretch` times as long as the cadence says.
    """

    budget: Budget
    spent: Mapping[BudgetPeriod, int]
    stretch: float = 1.0

    def is_short(self) -> bool:
        """Whether polls are slowed down."""
        return self.stretch > 1

    def sentences(self, now: datetime) -> list[str]:
        """Say how much is spent, and what follows from that."""
        found = []
        for period, limit in self.budget.limits(for_people=True).items():
            spent = self.spent.get(period, 0)
            part = share(spent / limit)
            ends = span(period_end(period, now) - now)
            found.append(
                f"{spent:,} of {limit:,} credits of this {period} are spent ({part}), "
                f"which ends in {ends}."
            )
        if not found:
            found.append("It limits requests alone, not credits.")
        if self.is_short():
            found.append(
                "Credits are short: each tracked transaction is asked about "
                f"{factor(self.stretch)} times less often than usual, so that the credits last."
            )
        return found


def period_end(period: BudgetPeriod, now: datetime) -> datetime:
    """Return when the current day or month ends, in UTC."""
    begun = period.begin(now)
    return period.begin(begun + timedelta(days=1 if period is BudgetPeriod.DAY else 31))


def per_second(budget: Budget, spent: Mapping[BudgetPeriod, int], now: datetime) -> float:
    """Return the credits a second that polls may spend, evenly over the rest of each period."""
    return min(
        (
            (limit - spent.get(period, 0)) / (period_end(period, now) - now).total_seconds()
            for period, limit in budget.limits(for_people=False).items()
        ),
        default=inf,
    )


def stretch_for(
    budget: Budget, spent: Mapping[BudgetPeriod, int], planned: float, fixed: float, now: datetime
) -> float:
    """Return by which factor polls must slow down so that the budget lasts.

    `planned` and `fixed` are credits a second: of polls that can be slowed down, and of those that
    cannot, such as fees.
    """
    left = per_second(budget, spent, now) - fixed
    return min(max(1.0, planned / left if left > 0 else _LONGEST_STRETCH), _LONGEST_STRETCH)


def factor(stretch: float) -> str:
    """Format a factor, with one decimal below ten."""
    return f"{stretch:,.{0 if stretch >= 10 else 1}f}"  # noqa: PLR2004 - ten
