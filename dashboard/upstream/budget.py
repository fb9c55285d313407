"""Stay within a budget: requests wait for their turn, and no call is made without credits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Final, Protocol

from anyio.to_thread import run_sync
from msgspec import Struct

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.formatting import span
from dashboard.domain.health.budgets import Budget, period_end, stretch_for
from dashboard.domain.quantity import Clock
from dashboard.errors import StoreError, UpstreamThrottled

_TAKEN_AT_ONCE: Final = 50
"""Calls whose credits are taken together when there are many requests in a second, since a
transaction for each would cost more than the call. Otherwise nothing is taken ahead, so that the
credits counted as spent were really spent."""

_MANY: Final = 10
_WITHIN: Final = timedelta(seconds=1)

_PARTS: Final = 200
"""A budget is taken in at least this many parts: a process that dies loses the part that it holds.
"""

_LONGEST_PAUSE: Final = timedelta(minutes=5)
"""How long nothing is asked after credits ran out; somebody may raise the budget meanwhile."""


class Taken(Struct, frozen=True):
    """Whether the credits were available, and what is spent in each period, including them."""

    is_taken: bool
    spent: Mapping[BudgetPeriod, int]


class Purse(Protocol):
    """The credits of one budget, shared by all processes; its methods block."""

    def take(self, amount: int, limits: Mapping[BudgetPeriod, int], /) -> Taken:
        """Take credits unless that would exceed `limits`; StoreError if the store cannot say."""

    def note_stretch(self, stretch: float, /) -> None:
        """Publish how far polls stretch."""


class BudgetKeeper:
    """One budget in this process: its turns, its credits, and how far its polls stretch.

    Credits are taken from the store before a question is sent, so that several processes together
    never spend more, and a process that dies does not forget what it spent.
    """

    def __init__(
        self,
        budget: Budget,
        purse: Purse,
        now: Clock,
        *,
        for_people: bool = False,
        fixed: float = 0.0,
        stretch: float = 1.0,
    ) -> None:
        """Reserve `fixed` credits a second for fees; start with the `stretch` noted before."""
        self.budget = budget
        self.stretch = stretch
        self._purse = purse
        self._now = now
        self._for_people = for_people
        self._fixed = fixed
        self._held = self._waiting = 0
        self._held_for = self._counted_from = BudgetPeriod.DAY.begin(now())
        self._refills = 0
        self._taking = asyncio.Lock()
        self._planned: dict[object, float] = {}
        share = budget.share(budget.requests_at_once, for_people=for_people)
        self._at_once = max(1, int(share)) if budget.requests_at_once else None
        self._turns = None if self._at_once is None else asyncio.Semaphore(self._at_once)
        self._rate = budget.share(budget.requests_per_second, for_people=for_people)
        self._next_turn = 0.0

    @asynccontextmanager
    async def turn(self, method: str, calls: int, *, is_fee: bool = False) -> AsyncIterator[None]:
        """Wait until a request may be sent; UpstreamThrottled if there are no credits for it."""
        async with self._turns or nullcontext():
            await self._wait()
            await self._take(self.budget.cost(method, calls), is_fee=is_fee)
            yield

    def in_flight(self, wanted: int) -> int:
        """Return how many of `wanted` requests may be sent at once."""
        by_rate = int(self._rate) + 1 if self._rate else wanted
        return min(wanted, self._at_once or wanted, by_rate)

    def plan(self, who: object, credits_a_second: float) -> float:
        """Plan the usual costs of the polls of `who`; return how far all polls stretch. Blocks."""
        self._planned[who] = credits_a_second
        spent = self._purse.take(0, {}).spent
        planned = sum(self._planned.values())
        stretch = stretch_for(self.budget, spent, planned, self._fixed, self._now())
        if stretch != self.stretch:
            self._purse.note_stretch(stretch)
        self.stretch = stretch
        return stretch

    async def _take(self, cost: int, *, is_fee: bool) -> None:
        """Take credits for one request; credits left from an earlier day are void."""
        if not self.budget.limits(for_people=True):
            return
        self._waiting += cost
        try:
            await asyncio.sleep(0)  # lets all requests that start together wait here
            async with self._taking:
                today = BudgetPeriod.DAY.begin(self._now())
                if today != self._held_for:
                    self._held, self._held_for = 0, today
                if cost > self._held:
                    others = 0 if is_fee else self._waiting - cost  # fees have limits of their own
                    await self._refill(cost - self._held, others, self._limits(is_fee=is_fee))
                self._held -= cost
        finally:
            self._waiting -= cost

    def _limits(self, *, is_fee: bool) -> dict[BudgetPeriod, int]:
        """Return the limits for this kind of question."""
        now, limits = self._now(), self.budget.limits(for_people=self._for_people)
        if is_fee or self._for_people:
            return limits
        return {
            period: limit - round(self._fixed * (period_end(period, now) - now).total_seconds())
            for period, limit in limits.items()
        }

    async def _refill(self, needed: int, others: int, limits: Mapping[BudgetPeriod, int]) -> None:
        """Take what is needed, also for waiting requests, since each time costs a transaction.

        If polls ask often, take credits for some more calls.
        """
        now = self._now()
        if not timedelta() <= now - self._counted_from < _WITHIN:
            self._counted_from, self._refills = now, 0
        self._refills += 1
        is_often = self._refills > _MANY and not self._for_people
        some = _TAKEN_AT_ONCE * self.budget.credits_per_call
        ahead = max(0, min(some, min(limits.values()) // _PARTS)) if is_often else 0
        more = max(ahead, others)
        taken = await self._taken(needed + more, limits)
        if not taken.is_taken:
            more, taken = 0, await self._taken(needed, limits)
        if not taken.is_taken:
            raise self._exhausted(needed, taken.spent, limits)
        self._held += needed + more

    async def _taken(self, amount: int, limits: Mapping[BudgetPeriod, int]) -> Taken:
        try:
            return await run_sync(self._purse.take, amount, limits)
        except StoreError:
            message = f"the budget {self.budget.name} cannot be read, so nothing is asked"
            raise UpstreamThrottled(message) from None

    def _exhausted(
        self, needed: int, spent: Mapping[BudgetPeriod, int], limits: Mapping[BudgetPeriod, int]
    ) -> UpstreamThrottled:
        now = self._now()
        period = min(limits, key=lambda each: limits[each] - spent.get(each, 0))
        left = period_end(period, now) - now
        message = (
            f"the credits of the budget {self.budget.name} for this {period} do not suffice for "
            f"questions of {needed:,}: it ends in {span(left)}, unless you raise the budget"
        )
        return UpstreamThrottled(message, min(left, _LONGEST_PAUSE))

    async def _wait(self) -> None:
        """Wait as long as the rate requires."""
        if not self._rate:
            return
        now = asyncio.get_running_loop().time()
        at = max(now, self._next_turn)
        self._next_turn = at + 1 / self._rate
        if at > now:
            await asyncio.sleep(at - now)


class NetworkBudgets(Struct, frozen=True):
    """The budgets of what one poll of a network asks, by endpoint.

    `shares` also holds the cost of one question; `in_use` returns the endpoints that are asked now.
    """

    shares: Mapping[str, tuple[BudgetKeeper, int]]
    in_use: Callable[[], Iterable[str]]

    @property
    def stretch(self) -> float:
        """How far the polls of the network stretch."""
        asked = [self.shares[name][0].stretch for name in self.in_use() if name in self.shares]
        return max(asked, default=1.0)

    def plan(self, who: object, calls_a_second: float) -> float:
        """Plan the usual number of questions a second; return how far polls stretch. Blocks."""
        wanted = {keeper: 0.0 for keeper, _ in self.shares.values()}
        for name in self.in_use():
            if name in self.shares:
                keeper, cost = self.shares[name]
                wanted[keeper] += calls_a_second * cost
        for keeper, credits_a_second in wanted.items():
            keeper.plan(who, credits_a_second)
        return self.stretch
