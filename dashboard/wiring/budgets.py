"""Budgets of this process: what the settings allow, and the store that counts it for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.quantity import Clock
from dashboard.settings import Settings
from dashboard.settings.budgets import fee_credits_per_day
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.budgets import note_stretch, spent_of, stretch_of, take_credits
from dashboard.upstream.budget import BudgetKeeper, Taken
from dashboard.wiring.networks import budgets_of

_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class StoredPurse:
    """The credits of one budget as the store counts them."""

    store: Store
    name: str
    now: Clock

    def take(self, amount: int, limits: Mapping[BudgetPeriod, int]) -> Taken:
        """Take so many, if no more than `limits` are spent then."""
        now = self.now()
        if not amount:
            with self.store.read() as connection:
                return Taken(is_taken=True, spent=spent_of(connection, self.name, now))
        with self.store.write() as connection:
            is_taken = take_credits(connection, self.name, now, amount, limits)
            return Taken(is_taken, spent_of(connection, self.name, now))

    def note_stretch(self, stretch: float) -> None:
        """Say to everybody how far polls stretch."""
        with self.store.write() as connection:
            note_stretch(connection, self.name, self.now(), stretch)


def budget_keepers(
    settings: Settings, store: Store, now: Clock, *, for_people: bool
) -> dict[str, BudgetKeeper]:
    """Return the keeper of each budget of the settings."""
    found = {}
    for name, budget in budgets_of(settings).items():
        with store.read() as connection:
            stretch = stretch_of(connection, name, now())
        found[name] = BudgetKeeper(
            budget,
            StoredPurse(store, name, now),
            now,
            for_people=for_people,
            fixed=fee_credits_per_day(settings, budget) / _DAY,
            stretch=stretch,
        )
    return found
