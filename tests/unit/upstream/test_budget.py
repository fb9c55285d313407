"""Budgets: turns of requests, of polls and of people."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import pytest

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.budgets import Budget
from dashboard.errors import StoreUnavailable, UpstreamThrottled
from dashboard.upstream.budget import BudgetKeeper, NetworkBudgets, Taken
from dashboard.upstream.node import NodeClient
from tests.fake_clock import FakeClock
from tests.unit.upstream.chain_followers import a_chain
from tests.unit.upstream.scripted_asker import ScriptedAsker

DAY, MONTH = BudgetPeriod.DAY, BudgetPeriod.MONTH


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

    for _ in range(60):
        async with keeper.turn("status", 1):
            pass
    taken_together = purse.takes
    fake_clock.wait(timedelta(hours=12))
    async with keeper.turn("status", 1):
        pass

    assert (taken_together, purse.takes) == (11, 12)


async def test_requests_that_wait_together_take_their_credits_together(
    fake_clock: FakeClock,
) -> None:
    purse = Purse(spent=600)
    keeper = BudgetKeeper(Budget("b", credits_per_day=1000, reserve=0), purse, fake_clock.now)

    async def request() -> bool:
        try:
            async with keeper.turn("status", 1):
                return True
        except UpstreamThrottled:
            return False

    few = await asyncio.gather(*(request() for _ in range(3)))
    takes = purse.takes
    many = await asyncio.gather(*(request() for _ in range(3)))

    assert (few, takes) == ([True, True, True], 1)
    assert (many, purse.spent) == ([True, True, False], 1000)


async def test_what_is_asked_now_and_then_takes_no_credits_ahead(fake_clock: FakeClock) -> None:
    purse = Purse()
    keeper = BudgetKeeper(Budget("b", credits_per_day=10**6), purse, fake_clock.now)

    for _ in range(3):
        for _ in range(4):
            async with keeper.turn("status", 1):
                pass
        fake_clock.wait(timedelta(seconds=1))

    assert purse.spent == 3 * 4 * 80


async def test_network_stretches_by_the_budgets_of_the_endpoints_that_are_asked(
    fake_clock: FakeClock,
) -> None:
    purses = Purse(), Purse()
    small, large = (
        BudgetKeeper(Budget("b", credits_per_day=limit, reserve=0), purse, fake_clock.now)
        for limit, purse in zip((43_200, 86_400), purses, strict=True)
    )
    used = ["a", "b"]
    budgets = NetworkBudgets({"a": (small, 1), "b": (large, 2), "c": (large, 2)}, lambda: used)

    both = budgets.plan("network", 2.0)  # half of a day is left: 1 and 2 credits a second
    used[:] = ["b", "c"]
    others = budgets.plan("network", 2.0)
    used[:] = ["d"]

    assert (both, others, budgets.plan("network", 2.0)) == (2.0, 4.0, 1.0)
    assert (purses[0].stretch, purses[1].stretch) == (1.0, 1.0)


async def test_blocks_that_are_read_for_transactions_leave_the_credits_of_fees(
    fake_clock: FakeClock,
) -> None:
    budget, purse = Budget("b", credits_per_day=10_000, reserve=0), Purse(5_000)
    keeper = BudgetKeeper(budget, purse, fake_clock.now, fixed=5_000 / 43_200)  # half of a day
    asker = ScriptedAsker(a_chain(3).answer, budget=keeper)
    polls, fees = NodeClient(asker), NodeClient(asker, for_fees=True)

    with pytest.raises(UpstreamThrottled):
        await polls.chain_id()
    with pytest.raises(UpstreamThrottled):
        await polls.newest_transactions()
    with pytest.raises(UpstreamThrottled):
        await polls.transactions_of([1, 2])
    head, blocks = await fees.block("latest"), await fees.blocks([1, 2])

    assert (head is not None, len(blocks), purse.spent) == (True, 2, 5_000 + 3 * 80)


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


async def test_look_ups_without_a_reserve_keep_to_the_rate(fake_clock: FakeClock) -> None:
    budget = Budget("b", requests_at_once=5, requests_per_second=2, reserve=0)
    people = BudgetKeeper(budget, Purse(), fake_clock.now, for_people=True)

    assert people.in_flight(64) == 3  # without a rate it would be 5
