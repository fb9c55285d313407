"""Simulated days of the real poll, client and budget: credits are never exceeded, and spread."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from dashboard.domain.alerts.condition import State
from dashboard.domain.health.budgets import Budget
from dashboard.errors import UpstreamUnavailable
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.lease import Lease, NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.upkeep import stretch_of, take_credits
from dashboard.upstream.budget import BudgetKeeper, NetworkBudgets
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.wiring.clients import StoredPurse
from tests.builders import A_NETWORK, a_hash
from tests.fake_clock import FakeClock
from tests.unit.poll.condition_scene import conditions_of, told
from tests.unit.poll.exclusion_poll_scene import POLICY, watch
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker
from tests.unit.upstream.scripted_exclusion import single_or_batch, summary, truth

TICK = timedelta(minutes=4)
DAY = 20_000
MONTH = 210_000
BUDGET = Budget("gateway", credits_per_day=DAY, credits_per_month=MONTH, reserve=10)


class Account:
    """An account with an upstream that counts, by day, what it is asked; a worker and people."""

    def __init__(self, store: Store, clock: FakeClock, fixed: float = 0.0) -> None:
        self.store, self.clock, self.fixed = store, clock, fixed
        self.budget = replace(BUDGET, credits_per_month=0) if fixed else BUDGET
        self.is_down = False
        self.charged: Counter[date] = Counter()
        self.by_quarter: Counter[tuple[date, int]] = Counter()
        self.poll = self.a_worker()
        self.people = self.a_client(self.a_keeper(for_people=True))

    async def pass_by(self, ticks: int) -> None:
        """Let the worker tick."""
        for _ in range(ticks):
            await self.poll.tick()
            self.clock.wait(TICK)

    def a_worker(self) -> ExclusionPoll:
        """Start the worker, for the first time or again."""
        keeper = self.a_keeper(for_people=False)
        term = Lease(
            self.store, "worker", f"{uuid4()}", timedelta(days=365), self.clock.elapsed
        ).acquire()
        store = self.store
        own = NetworkStore(store, A_NETWORK, term) if term else self.poll.store
        conditions, clocks = conditions_of(self.clock), self.clock.clocks
        client, queue = self.a_client(keeper), ExclusionQueue(POLICY)
        budgets = NetworkBudgets({"": (keeper, 80)}, lambda: ("",))
        return ExclusionPoll(client, own, queue, clocks, conditions, uuid4, budgets)

    def a_keeper(self, *, for_people: bool) -> BudgetKeeper:
        """Return the budget as a new process has it."""
        now = self.clock.now
        purse = StoredPurse(self.store, BUDGET.name, now)
        with self.store.read() as connection:
            stretch = stretch_of(connection, BUDGET.name, now())
        return BudgetKeeper(
            self.budget, purse, now, for_people=for_people, fixed=self.fixed, stretch=stretch
        )

    def a_client(self, keeper: BudgetKeeper) -> ExclusionClient:
        asker = ScriptedAsker(self._answer, budget=keeper)
        return ExclusionClient(asker, "linea", elapsed=self.clock.elapsed)

    def _answer(self, calls: list[Call]) -> Any:  # noqa: ANN401 - replies or an error
        if self.is_down:
            return UpstreamUnavailable("devnet test endpoint: no answer: cannot connect")
        now = self.clock.now()
        self.charged[now.date()] += 80 * len(calls)
        self.by_quarter[now.date(), now.hour // 6] += len(calls)
        return single_or_batch(truth)(calls)


async def test_days_of_polls_look_ups_and_restarts_never_exceed_the_budget(
    store: Store, fake_clock: FakeClock
) -> None:
    account = Account(store, fake_clock)
    watch(store, fake_clock, *range(1, 41, 2))
    looked_up = []

    for _ in range(8):  # two days
        await account.pass_by(90)
        looked_up += summary(await account.people.ask([a_hash(7), a_hash(8)]))
        account.poll = account.a_worker()

    _, whole, _ = sorted(account.charged)
    assert max(account.charged.values()) <= DAY
    assert account.charged[whole] > 0.75 * DAY
    assert looked_up == ["null", "record"] * 8


async def test_month_that_is_nearly_spent_bounds_the_days_that_are_left(
    store: Store, fake_clock: FakeClock
) -> None:
    account = Account(store, fake_clock)
    with store.write() as connection:
        take_credits(connection, BUDGET.name, fake_clock.now(), MONTH - 22_000, {})
    watch(store, fake_clock, *range(1, 41, 2))

    await account.pass_by(360)

    assert sum(account.charged.values()) <= 1_000  # the rest is the reserve


async def test_credits_are_spread_over_the_whole_day(store: Store, fake_clock: FakeClock) -> None:
    account = Account(store, fake_clock)
    fake_clock.wait(timedelta(hours=12))  # midnight
    watch(store, fake_clock, *range(1, 41, 2))

    await account.pass_by(360)

    [day] = account.charged
    quarters = [account.by_quarter[day, quarter] for quarter in range(4)]
    assert sum(quarters) * 80 > 0.75 * DAY
    assert min(quarters) > 0.1 * sum(quarters)


async def test_what_fees_are_planned_to_cost_is_left_for_them(
    store: Store, fake_clock: FakeClock
) -> None:
    fees_per_day = 12_000
    account = Account(store, fake_clock, fees_per_day / 86_400)
    fake_clock.wait(timedelta(hours=12))
    watch(store, fake_clock, *range(1, 41, 2))

    for _ in range(350):
        with store.write() as connection:
            now, limits = fake_clock.now(), account.budget.limits(for_people=False)
            assert take_credits(connection, BUDGET.name, now, fees_per_day // 360, limits)
        await account.pass_by(1)

    [day] = account.charged
    assert 5_000 < account.charged[day] <= 0.9 * DAY - 33 * 350 - 80 * 3


async def test_raised_budget_is_felt_by_what_waits_already(
    store: Store, fake_clock: FakeClock
) -> None:
    account = Account(store, fake_clock)
    account.budget = replace(BUDGET, credits_per_day=2_000, credits_per_month=0)
    account.poll = account.a_worker()
    watch(store, fake_clock, *range(1, 41, 2))
    await account.pass_by(30)
    before = account.charged.total()

    account.budget = replace(BUDGET, credits_per_day=10**9, credits_per_month=0)
    account.poll = account.a_worker()
    await account.pass_by(5)

    assert before <= 2_000
    assert account.charged.total() - before > 20 * 80


async def test_outage_goes_on_although_a_new_day_has_credits_again(
    store: Store, fake_clock: FakeClock
) -> None:
    account = Account(store, fake_clock)
    account.budget = replace(BUDGET, credits_per_month=0)
    account.poll, account.is_down = account.a_worker(), True
    watch(store, fake_clock, *range(1, 41, 2))

    await account.pass_by(200)  # past midnight

    assert [each.after for each in told(store)] == [State.SILENT]
