"""What is to be remembered of calls and what they cost, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.health.observation import Spent
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.upkeep import LedgerLine, spent_since
from tests.model.turns import Turn

_AN_HOUR: Final = timedelta(hours=1)


@dataclass
class Ledger:
    """What was spent, by hour, network and operation."""

    spent: dict[tuple[datetime, NetworkId, str], Spent] = field(default_factory=dict)

    def note(self, network_id: NetworkId, at: datetime, spent: Mapping[str, Spent]) -> None:
        """Add to the hour."""
        for operation, each in spent.items():
            place = _hour(at), network_id, operation
            self.spent[place] = self.spent.get(place, Spent()) + each

    def forget(self, before: datetime) -> None:
        """Forget whole hours."""
        self.spent = {place: each for place, each in self.spent.items() if place[0] >= before}

    def since(self, moment: datetime) -> list[LedgerLine]:
        """Add up by network and operation, that which cost most first."""
        sums: dict[tuple[NetworkId, str], Spent] = {}
        for (hour, network_id, operation), each in self.spent.items():
            if hour >= moment:
                sums[network_id, operation] = sums.get((network_id, operation), Spent()) + each
        lines = [LedgerLine(*place, each) for place, each in sums.items()]
        return sorted(lines, key=_dearest)


def check_ledger(connection: Connection, held: Ledger, now: datetime, turn: Turn) -> None:
    """Add up over all hours and over some, and see that it is what is held."""
    hours = sorted({hour for hour, _, _ in held.spent})
    for since in (*hours[:1], *turn.some_of([*hours[1:], now, now - _AN_HOUR, _hour(now)])):
        assert spent_since(connection, since) == held.since(since)
    ever = now - timedelta(days=400)
    assert spent_since(connection, ever) == held.since(ever)


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _dearest(line: LedgerLine) -> tuple[int, int, NetworkId, str]:
    return -line.spent.credits, -line.spent.calls, line.network_id, line.operation
