"""What calls to the networks have cost, and whether fees take more credits than planned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dashboard.domain.credit import Spent
from dashboard.domain.formatting import counted
from dashboard.domain.observation import FEE_OPERATIONS
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.credits import LedgerLine, spent_since

PLAN_TOLERANCE: Final = 0.05
"""By which share fees may take more than planned: a worker that starts again asks at once."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls to one network."""

    today: Spent = field(default_factory=Spent)
    this_month: Spent = field(default_factory=Spent)


def spending(connection: Connection, now: datetime) -> dict[NetworkId, Spending]:
    """Return what each network has cost that was asked this month."""
    midnight = _midnight(now)
    today = _by_network(spent_since(connection, midnight))
    this_month = _by_network(spent_since(connection, midnight.replace(day=1)))
    return {each: Spending(today[each], spent) for each, spent in this_month.items()}


def fee_credits(connection: Connection, now: datetime) -> dict[NetworkId, int]:
    """Return what the fees of each network took since midnight (UTC)."""
    lines = spent_since(connection, _midnight(now))
    of_fees = _by_network(each for each in lines if each.operation in FEE_OPERATIONS)
    return {each: spent.credits for each, spent in of_fees.items()}


def is_over_plan(took: int, planned: int) -> bool:
    """Whether fees took clearly more credits than planned; not where nothing is planned."""
    return 0 < planned * (1 + PLAN_TOLERANCE) < took


def spending_in_words(spending: Spending, took: int, planned: int) -> str:
    """Say what a network has cost, and what of it its fees took today beside what is planned."""
    today, month = _calls_and_credits(spending.today), _calls_and_credits(spending.this_month)
    plan = f" {plan_in_words(took, planned)}" if planned else ""
    return f"Asked today: {today}; this month: {month}.{plan}"


def plan_in_words(took: int, planned: int) -> str:
    """Say what fees took today (UTC) of what is planned for a day, and how much too much."""
    over = f", {took / planned - 1:.0%} over plan" if is_over_plan(took, planned) else ""
    return f"Its fees took {took:,} of the {planned:,} credits planned for a day{over}."


def _by_network(lines: Iterable[LedgerLine]) -> defaultdict[NetworkId, Spent]:
    found: defaultdict[NetworkId, Spent] = defaultdict(Spent)
    for line in lines:
        found[line.network_id] += line.spent
    return found


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _calls_and_credits(spent: Spent) -> str:
    calls = counted(spent.calls, "call")
    return f"{calls}, {counted(spent.credits, 'credit')}" if spent.credits else calls
