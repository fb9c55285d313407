"""What watching a network has cost: calls and credits of today and of this month, in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dashboard.domain.credit import Spent
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.credits import spent_since


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls to one network; `operations` are those of this month, the dearest first."""

    today: Spent = field(default_factory=Spent)
    this_month: Spent = field(default_factory=Spent)
    operations: Mapping[str, Spent] = field(default_factory=dict)


def spending(connection: Connection, now: datetime) -> dict[NetworkId, Spending]:
    """Return what each network has cost that was asked this month."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
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


def in_words(spending: Spending, planned: int) -> str:
    """Say what a network has cost; `planned` are the credits that its fees take in a day."""
    said = f"Asked today: {_words(spending.today)}; this month: {_words(spending.this_month)}."
    if planned:
        said += f" Its fees are planned to take {planned:,} credits a day."
    return said


def _words(spent: Spent) -> str:
    calls = "1 call" if spent.calls == 1 else f"{spent.calls:,} calls"
    return f"{calls}, {spent.credits:,} credits" if spent.credits else calls
