"""Budgets: what is allowed, how far polls stretch, and turns of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import pytest

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.budgets import Budget, BudgetState, stretch_for
from dashboard.errors import StoreUnavailable, UpstreamThrottled
from dashboard.upstream.budget import BudgetKeeper, Taken
from tests.builders import A_MOMENT
from tests.fake_clock import FakeClock

pytestmark = pytest.mark.anyio

DAY, MONTH = BudgetPeriod.DAY, BudgetPeriod.MONTH
HALF_A_DAY = 12 * 3600


class Purse:
    """Credits in memory."""

    def __init__(self, spent: int = 0) -> None:
        self.spent = spent
        self.takes = 0
        self.is_broken = False

    def take(self, amount: int, limits: Mapping[BudgetPeriod, int]) -> Taken:
        if self.is_broken:
            raise StoreUnavailable("full")
        self.takes += 1
        is_taken = all(self.spent + amount <= limit for limit in limits.values())
        self.spent += amount if is_taken else 0
        return Taken(is_taken, {DAY: self.spent, MONTH: self.spent})

    def note_stretch(self, stretch: float) -> None:
        self.stretch = stretch


def test_methods_cost_what_is_said_of_them_with_any_prefix() -> None:
    budget = Budget("b", credits_per_call=80, credits={"getStatus": 5, "eth_call": 20})

    assert budget.cost("linea_getStatus", 3) == 15
    assert budget.cost("eth_call") == 20
    assert budget.cost("other", 2) == 160


@pytest.mark.parametrize(
    ("planned", "spent", "stretch"),
    [
        (0.5, 0, 1.0),
        (2.0, 0, 2.0),  # 43,200 are left for half a day
        (2.0, 21_600, 4.0),
        (2.0, 43_200, 1000.0),
        (0.0, 43_200, 1000.0),
    ],
)
def test_polls_stretch_as_far_as_what_is_left_suffices(
    planned: float, spent: int, stretch: float
) -> None:
    budget = Budget("b", credits_per_day=HALF_A_DAY, reserve=0)

    assert stretch_for(budget, {DAY: spent}, planned, 0.0, A_MOMENT) == stretch


def test_fees_come_first_and_the_month_counts_as_well() -> None:
    budget = Budget("b", credits_per_day=HALF_A_DAY, credits_per_month=10**9, reserve=0)
    short = Budget("b", credits_per_day=10**9, credits_per_month=907_200, reserve=0)

    assert stretch_for(budget, {}, 1.0, 0.5, A_MOMENT) == 2.0
    assert stretch_for(short, {}, 2.0, 0.0, A_MOMENT) == 2.0  # ten and a half days are left


def test_budget_says_what_is_spent_and_that_it_is_short() -> None:
    budget = Budget("gateway", credits_per_day=3_000_000)

    calm, short = (BudgetState(budget, {DAY: 1_500_000}, stretch) for stretch in (1.0, 2.5))

    assert calm.sentences(A_MOMENT) == [
        "1,500,000 of 3,000,000 credits of this day are spent (50%), which ends in 12 h."
    ]
    assert "2.5 times as seldom as usual" in short.sentences(A_MOMENT)[1]


async def test_polls_leave_the_reserve_to_people(fake_clock: FakeClock) -> None:
    purse, budget = Purse(), Budget("b", credits_per_day=800, reserve=20)
    polls = BudgetKeeper(budget, purse, fake_clock.now)
    people = BudgetKeeper(budget, purse, fake_clock.now, for_people=True)

    async with polls.turn("status", 8):
        pass
    with pytest.raises(UpstreamThrottled, match="budget b for this day do not suffice") as refused:
        async with polls.turn("status", 1):
            pass
    async with people.turn("status", 2):
        pass

    assert purse.spent == 800
    assert refused.value.retry_after == timedelta(minutes=5)


async def test_credits_of_yesterday_are_not_spent_today(fake_clock: FakeClock) -> None:
    purse = Purse()
    keeper = BudgetKeeper(Budget("b", credits_per_day=10**6), purse, fake_clock.now)

    for _ in range(3):
        async with keeper.turn("status", 1):
            pass
    taken_together = purse.takes
    fake_clock.wait(timedelta(hours=12))
    async with keeper.turn("status", 1):
        pass

    assert (taken_together, purse.takes) == (1, 2)


async def test_nothing_is_asked_while_nobody_knows_what_is_left(fake_clock: FakeClock) -> None:
    purse = Purse()
    purse.is_broken = True
    keeper = BudgetKeeper(Budget("b", credits_per_day=10**6), purse, fake_clock.now)

    with pytest.raises(UpstreamThrottled, match="cannot be read"):
        async with keeper.turn("status", 1):
            pass


async def test_budget_without_credits_asks_no_store(fake_clock: FakeClock) -> None:
    purse = Purse()
    keeper = BudgetKeeper(Budget("b", requests_at_once=4), purse, fake_clock.now)

    async with keeper.turn("status", 1):
        pass

    assert purse.takes == 0


async def test_requests_at_once_are_shared_by_polls_and_people(fake_clock: FakeClock) -> None:
    budget = Budget("b", requests_at_once=5, requests_per_second=20, reserve=20)
    polls = BudgetKeeper(budget, Purse(), fake_clock.now)
    people = BudgetKeeper(budget, Purse(), fake_clock.now, for_people=True)
    now, most = 0, 0

    async def request() -> None:
        nonlocal now, most
        async with polls.turn("status", 1):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    await asyncio.gather(*(request() for _ in range(3)))

    assert most <= 4
    assert (polls.in_flight(64), people.in_flight(64)) == (4, 1)
