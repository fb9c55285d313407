"""Rules of kind credits-short: much of a budget of credits is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from dashboard.domain.alerts.condition import (
    Grounds,
    Reading,
    Readings,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.kinds.kind import (
    DescribedChange,
    Figure,
    IncidentText,
    Judged,
    Kind,
    Measure,
)
from dashboard.domain.alerts.rule_values import word
from dashboard.domain.formatting import share
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

USUAL_SHARE: Final = 80
"""Percent of a budget at which a rule reports, unless it sets another share."""

_LARGEST_BUDGET: Final = 10**15
_ALL: Final = 100
_SAVE_CREDITS: Final = (
    "`linewatch config plan` shows what polling costs a day, and what other settings would cost.",
    "To spend less, lower calls_per_transaction or lengthen periods in [poll].",
)


class BudgetPeriod(StrEnum):
    """The period that a budget of credits is for."""

    DAY = "day"
    MONTH = "month"

    def begin(self, now: datetime) -> datetime:
        """Return when the current day or month began, in UTC."""
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return day if self is BudgetPeriod.DAY else day.replace(day=1)


@dataclass(frozen=True, slots=True)
class CreditMeasure(Measure):
    """A share, in percent, of a budget of credits for a day or a month in UTC."""

    budget: int
    per: BudgetPeriod
    percent: int

    def table(self) -> dict[str, Any]:
        return {"budget": self.budget, "per": self.per.value, "used_percent": self.percent}

    def when(self) -> str:
        return f"{self.percent}% of {self.budget:,} credits a {self.per} are spent"


class CreditGrounds(Grounds, frozen=True):
    """Credits spent in this day or month, and the budget of the rule."""

    spent: int
    budget: int
    per: str


def read_credits(rule: str, measure: CreditMeasure, spent: int, now: datetime) -> Readings:
    """Return whether the share of the budget that the rule reports is spent."""
    subject = Subject.of_rule(SubjectKind.CREDITS, rule)
    grounds = CreditGrounds(spent, measure.budget, measure.per.value)
    is_trouble = spent * 100 >= measure.budget * measure.percent
    return {subject: Reading(is_trouble, now, grounds=grounds)}


def _budget(written: object) -> int:
    if type(written) is not int or not 0 < written <= _LARGEST_BUDGET:
        raise InputError(f"is {shorten(str(written))}: write a number of credits, such as 3000000")
    return written


def _percent(written: object) -> int:
    if type(written) is not int or not 0 < written <= _ALL:
        raise InputError(f"is {shorten(str(written))}: write 1 to 100")
    return written


def _measure(values: Mapping[str, Any]) -> CreditMeasure:
    percent = values.get("used_percent", USUAL_SHARE)
    return CreditMeasure(values["budget"], values["per"], percent)


def _describe(change: DescribedChange, grounds: CreditGrounds) -> IncidentText:
    used = share(grounds.spent / grounds.budget)
    spent = f"{grounds.spent:,} of the {grounds.per}'s {grounds.budget:,} credits"
    return IncidentText(
        headline=f"{used} of the {grounds.per}'s credits are spent",
        opening=f"{spent} are spent.",
        page="health",
        rows=(change.rule, ("Spent", spent), *change.lasted),
        next_steps=_SAVE_CREDITS if change.is_open else (),
    )


CREDITS_SHORT: Final = Kind(
    title="Credits running short",
    when="credits run short",
    subjects={
        SubjectKind.CREDITS: Judged(
            State.WITHIN_LIMITS, State.BEYOND_LIMITS, "Credits are within the budget again"
        )
    },
    is_of_networks=False,
    is_measured=True,
    figures=(
        Figure(
            *("budget", _budget, "Budget of credits"),
            example="3000000",
            is_needed=True,
            is_number=True,
        ),
        Figure(
            *("per", word(BudgetPeriod), "For each"),
            choices=[each.value for each in BudgetPeriod],
            is_needed=True,
        ),
        Figure("used_percent", _percent, "Share spent, in %", str(USUAL_SHARE), is_number=True),
    ),
    measure=_measure,
    grounds={"credits": CreditGrounds},
    describe=_describe,
)
