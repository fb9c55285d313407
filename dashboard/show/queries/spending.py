"""What calls to the networks have cost, and whether fees take more credits than planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dashboard.domain.credit import Spent
from dashboard.domain.formatting import counted
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.credits import spent_since

PLAN_TOLERANCE: Final = 0.05
"""By which share fees may take more than planned: a worker that starts again asks at once."""

_OF_FEES: Final = frozenset(
    {
        Operation.SUGGESTED_GAS_FEES,
        Operation.BASE_FEE_HISTORY,
        Operation.BASE_FEE_PERCENTILE,
        Operation.BUSY_THRESHOLD,
    }
)


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls to one network; `operations` are those of this month, the dearest first."""

    today: Spent = field(default_factory=Spent)
    this_month: Spent = field(default_factory=Spent)
    operations: Mapping[str, Spent] = field(default_factory=dict)


def spending(connection: Connection, now: datetime) -> dict[NetworkId, Spending]:
    """Return what each network has cost that was asked this month."""
    today = _midnight(now)
    found: dict[NetworkId, Spending] = {}
    for line in spent_since(connection, today.replace(day=1)):
        before = found.get(line.network_id, Spending())
        operations = {**before.operations, line.operation: line.spent}
        found[line.network_id] = Spending(Spent(), before.this_month + line.spent, operations)
    for line in spent_since(connection, today):
        before = found[line.network_id]
        found[line.network_id] = Spending(
            before.today + line.spent, before.this_month, before.operations
        )
    return found


def fee_credits(connection: Connection, now: datetime) -> dict[NetworkId, int]:
    """Return what the fees of each network took since midnight (UTC)."""
    found: Counter[NetworkId] = Counter()
    for line in spent_since(connection, _midnight(now)):
        if line.operation in _OF_FEES:
            found[line.network_id] += line.spent.credits
    return dict(found)


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


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _calls_and_credits(spent: Spent) -> str:
    calls = counted(spent.calls, "call")
    return f"{calls}, {counted(spent.credits, 'credit')}" if spent.credits else calls
