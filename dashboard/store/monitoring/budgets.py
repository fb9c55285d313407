"""Credits of budgets, counted before they are spent, and how far polls stretch for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, and_, or_, select, update

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import budget_spending

_THOUSANDTHS: Final = 1000


def take_credits(
    connection: Connection,
    budget: str,
    at: datetime,
    amount: int,
    limits: Mapping[BudgetPeriod, int],
) -> bool:
    """Count credits as spent, if the limits of the day and of the month allow that."""
    _add(connection, budget, at, amount)  # locks the rows, so that nobody takes beside us
    spent = spent_of(connection, budget, at)
    is_allowed = all(spent[period] <= limit for period, limit in limits.items())
    if not is_allowed:
        _add(connection, budget, at, -amount)
    return is_allowed


def spent_of(connection: Connection, budget: str, at: datetime) -> dict[BudgetPeriod, int]:
    """Return the credits spent in the day and in the month of a moment."""
    return {period: row[0] for period, row in _rows(connection, budget, at).items()}


def stretch_of(connection: Connection, budget: str, at: datetime) -> float:
    """Return how far polls last stretched on this day; 1 if they did not."""
    _, stretch = _rows(connection, budget, at)[BudgetPeriod.DAY]
    return 1.0 if stretch is None else stretch / _THOUSANDTHS


def note_stretch(connection: Connection, budget: str, at: datetime, stretch: float) -> None:
    """Store how far polls stretch from now on."""
    _add(connection, budget, at, 0)
    column = budget_spending.c
    today = (
        column.budget == budget,
        column.period == BudgetPeriod.DAY.value,
        column.begins_at == BudgetPeriod.DAY.begin(at),
    )
    values = {"stretch": round(stretch * _THOUSANDTHS)}
    connection.execute(update(budget_spending).where(*today).values(values))


def _add(connection: Connection, budget: str, at: datetime, amount: int) -> None:
    rows = [
        {
            "budget": budget,
            "period": period.value,
            "begins_at": period.begin(at),
            "credits": amount,
        }
        for period in BudgetPeriod
    ]
    upsert_sums(connection, budget_spending, rows)


def _rows(
    connection: Connection, budget: str, at: datetime
) -> dict[BudgetPeriod, tuple[int, int | None]]:
    column = budget_spending.c
    now = (and_(column.period == it.value, column.begins_at == it.begin(at)) for it in BudgetPeriod)
    query = select(*column["period", "credits", "stretch"]).where(
        column.budget == budget, or_(*now)
    )
    found: dict[BudgetPeriod, tuple[int, int | None]] = dict.fromkeys(BudgetPeriod, (0, None))
    for row in connection.execute(query):
        found[BudgetPeriod(row.period)] = int(row.credits), row.stretch
    return found
