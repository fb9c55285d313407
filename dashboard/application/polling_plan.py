"""The daily cost of polling transactions, how late rejections are seen, and other cadences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.formatting import counted
from dashboard.domain.health.budgets import Budget, BudgetState, factor, per_second, stretch_for
from dashboard.domain.health.observation import Spent
from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.cadence import (
    FOLLOW_UP_CADENCE,
    SELDOM,
    CadencePolicy,
    ExpectedDelay,
    calls_between,
    expected_delay,
)
from dashboard.domain.tracking.inclusion import SETTLES_AFTER
from dashboard.store.tracking.search import AgeGroup

WINDOW: Final = CadencePolicy().last_age
"""How long a transaction is asked about."""

_DAY: Final = timedelta(days=1)

ASKED_FOR: Final = WINDOW + _DAY
FOLLOWED_FOR: Final = FOLLOW_UP_CADENCE.last_age + _DAY
"""How old transactions may be that endpoints, or a node, were asked about yesterday."""

_BESIDE: Final = 10
"""For this many receipts, one block may be read in vain."""

_OTHERS: Final = (0.5, 1, 2, 4)
"""The cadences to show, as multiples of the one in force."""

_FEWEST, _MOST = 10, 10_000


class PlannedPolling(Struct, frozen=True):
    """One cadence on one network, for the present load and the budgets in force.

    `tracked` is how many transactions are young enough to be asked about; `asked` is the daily cost
    of asking all endpoints about them while everything answers, for the last day or the next one,
    whichever costs more, and a node about their inclusion if a budget is charged for that. If a
    budget is short, that is already `stretch` times less than the cadence alone would cost, and
    `delay` is longer accordingly. `fees` are additional. A network without exclusion endpoint only
    has `fees`.
    """

    network: str
    calls: int
    is_in_force: bool
    tracked: int
    asked: Spent
    fees: Spent
    delay: ExpectedDelay | None = None
    stretch: float = 1.0


class PlannedBudget(Struct, frozen=True):
    """What one budget has for polls in a day (UTC), and what polls would spend of it.

    `fees` and `wanted`, for questions about transactions, are credits of all networks charged to
    it. If they do not fit, polls stretch.
    """

    budget: Budget
    for_polls: int
    fees: int
    wanted: int
    stretch: float

    def sentence(self) -> str:
        begins = f"The budget {self.budget.name} has {self.for_polls:,} credits a day for polls"
        if self.stretch <= 1:
            return f"{begins}, and they take {self.fees + self.wanted:,}: that is enough."
        return (
            f"{begins}. Fees take {self.fees:,}, and transactions would take {self.wanted:,}: so "
            f"each is asked about {factor(self.stretch)} times less often."
        )


class PollingPlan(Struct, frozen=True):
    """Every network at its cadence and at others, and the budgets that they are charged to."""

    lines: Sequence[PlannedPolling] = ()
    budgets: Sequence[PlannedBudget] = ()
    verified: Sequence[str] = ()
    """Networks that are asked rarely, since nodes report to our own serve."""

    def of(self, names: Collection[str]) -> PollingPlan:
        return replace(
            self,
            lines=[each for each in self.lines if each.network in names],
            verified=[each for each in self.verified if each in names],
        )

    def in_words(self) -> Iterator[str]:
        in_force = [each for each in self.lines if each.is_in_force]
        calls = sum(each.asked.calls + each.fees.calls for each in in_force)
        credits_ = sum(each.asked.credits + each.fees.credits for each in in_force)
        load = (
            f"At the present load, Linewatch makes {counted(calls, 'call')} a day, fees "
            f"included, which cost {counted(credits_, 'credit')}."
        )
        choice = "The table also shows other values of poll.calls_per_transaction."
        yield load if len(in_force) == len(self.lines) else f"{load} {choice}"
        yield from (each.sentence() for each in self.budgets)
        if self.verified:
            yield (
                f"{' and '.join(self.verified)}: asked about a tenth as often as "
                "poll.calls_per_transaction says, since nodes report to this installation's own "
                "serve, which knows every rejection at once."
            )
        if any(each.delay is not None for each in self.lines):
            yield (
                "A delay is the expected time from when the API has a rejection to when Linewatch "
                "sees it, if it has 70% within 5 s of the attempt, 90% within 1 min and 99% "
                "within 1 h."
            )


def planned_polling(
    profiles: Sequence[NetworkProfile],
    load: Sequence[AgeGroup],
    followed: Sequence[AgeGroup],
    budgets: Sequence[BudgetState],
    now: datetime,
) -> PollingPlan:
    """Plan each network at its cadence and, unless calls are free, at others.

    `followed` are the ages of follow-ups.
    """
    asked = [each for each in profiles if each.has_exclusion]
    planner = _Planner(profiles, _by_network(load), _by_network(followed), budgets, now)
    fees_alone = [each for each in profiles if not each.has_exclusion and each.cost.fees]
    verified = [each for each in asked if each.sees_all_reports]
    return PollingPlan(
        [
            *(planner.line(each, calls) for each in asked for calls in _settings(each)),
            *(_fees_of(each) for each in fees_alone),
        ],
        [planner.budget(each) for each in budgets if each.budget.limits(for_people=False)],
        [each.name for each in verified if not each.cost.of_question.credits],
    )


class _Planner(Struct, frozen=True):
    """Plans all networks together, since they share budgets."""

    profiles: Sequence[NetworkProfile]
    load: Mapping[NetworkId, Sequence[AgeGroup]]
    followed: Mapping[NetworkId, Sequence[AgeGroup]]
    budgets: Sequence[BudgetState]
    now: datetime

    def line(self, profile: NetworkProfile, calls: int) -> PlannedPolling:
        """Plan one network at a cadence, the others at their own."""
        cost, cadence = profile.cost, replace(profile.cadence, calls=calls)
        load = self.load.get(profile.network_id, ())
        stretches = {
            each.budget.name: self.budget(each, profile, cadence).stretch
            for each in self.budgets
            if each.budget.name in {*cost.question, *cost.receipt}
        }
        stretch = max((stretches.get(each, 1.0) for each in cost.question), default=1.0)
        asked = cost.of_question * round(self._questions(profile, cadence) / stretch)
        for name, once in cost.receipt.items():
            asked += once * round(self._receipts(profile) / stretches.get(name, 1.0))
        return PlannedPolling(
            profile.name,
            calls,
            calls == profile.cadence.calls,
            sum(each.many for each in load if each.born_at > self.now - WINDOW),
            asked,
            cost.of_fees,
            expected_delay(replace(cadence, calls=max(_FEWEST, round(calls / stretch)))),
            stretch,
        )

    def budget(
        self,
        state: BudgetState,
        changed: NetworkProfile | None = None,
        cadence: CadencePolicy | None = None,
    ) -> PlannedBudget:
        """Plan a whole day of a budget, as the worker plans the rest of one.

        The `changed` network is asked at that `cadence`. Credits of the month spent before today
        are gone.
        """
        name, midnight = state.budget.name, BudgetPeriod.DAY.begin(self.now)
        wanted = fees = 0
        for each in self.profiles:
            fees += each.cost.fees.get(name, Spent()).credits
            once = each.cost.question.get(name, Spent()).credits
            policy = cadence if each is changed and cadence is not None else each.cadence
            wanted += once and once * self._questions(each, policy)
            receipt = each.cost.receipt.get(name, Spent()).credits
            wanted += receipt and receipt * self._receipts(each)
        spent = state.spent.get(BudgetPeriod.MONTH, 0) - state.spent.get(BudgetPeriod.DAY, 0)
        before, seconds = {BudgetPeriod.MONTH: spent}, _DAY.total_seconds()
        stretch = stretch_for(state.budget, before, wanted / seconds, fees / seconds, midnight)
        for_polls = max(0, round(per_second(state.budget, before, midnight) * seconds))
        return PlannedBudget(state.budget, for_polls, fees, wanted, stretch)

    def _questions(self, profile: NetworkProfile, policy: CadencePolicy) -> int:
        """Return the questions about a network's transactions on the busier of two days."""
        load = self.load.get(profile.network_id, ())
        return max(
            sum(each.many * _calls(profile, policy, each, self.now - start) for each in load)
            for start in (timedelta(), _DAY)
        )

    def _receipts(self, profile: NetworkProfile) -> int:
        """Return the calls for the inclusion of a network's transactions, on the busier day."""
        followed = self.followed.get(profile.network_id, ())
        asked = max(
            sum(each.many * _calls_for_inclusion(each, self.now - start) for each in followed)
            for start in (timedelta(), _DAY)
        )
        return asked + asked // _BESIDE


def _by_network(load: Sequence[AgeGroup]) -> Mapping[NetworkId, Sequence[AgeGroup]]:
    found = defaultdict[NetworkId, list[AgeGroup]](list)
    for each in load:
        found[each.network_id].append(each)
    return found


def _fees_of(profile: NetworkProfile) -> PlannedPolling:
    """Return the plan of a network that is only asked for fees."""
    fees = profile.cost.of_fees
    return PlannedPolling(profile.name, 0, is_in_force=True, tracked=0, asked=Spent(), fees=fees)


def _settings(profile: NetworkProfile) -> list[int]:
    """Return the cadence in force and, if calls cost credits, others."""
    in_force = profile.cadence.calls
    if profile.cost.of_question.credits:
        return sorted({min(max(_FEWEST, round(in_force * each)), _MOST) for each in _OTHERS})
    return [in_force]


def _calls(profile: NetworkProfile, policy: CadencePolicy, load: AgeGroup, since: datetime) -> int:
    """Return the number of questions about one transaction in the day from `since`.

    Transactions first seen after line limits ended are asked about rarely or never.
    """
    ended_at = profile.line_limits.ended_at(since + _DAY)
    if ended_at is not None and load.born_at >= ended_at:
        if not profile.line_limits.is_asked_after:
            return 0
        policy = SELDOM
    age = since - load.born_at
    included = None if load.included_after is None else _rounded(load.included_after)
    return calls_between(
        age, age + _DAY, policy, is_rejected=load.is_rejected, included_after=included
    )


def _calls_for_inclusion(load: AgeGroup, since: datetime) -> int:
    """Return the number of calls for the inclusion of one transaction in the day from `since`.

    After a receipt is seen, one question more says that it is final. If a transaction was rejected,
    each question takes a second call, for the nonce.
    """
    age = since - load.born_at
    until, again = age + _DAY, 0
    if load.included_after is not None:
        seen = _rounded(max(load.included_after, timedelta()))
        again = int(age < seen + SETTLES_AFTER <= until)
        until = max(age, min(until, seen))
    return (calls_between(age, until, FOLLOW_UP_CADENCE) + again) * (1 + load.is_rejected)


def _rounded(age: timedelta) -> timedelta:
    """Round up to a power of two seconds, so that few schedules are computed."""
    return timedelta(seconds=1 << int(age.total_seconds()).bit_length())


def in_seconds(length: timedelta) -> str:
    """Format a delay with about two significant digits."""
    seconds = length.total_seconds()
    if seconds < 10:  # noqa: PLR2004 - below, a tenth matters
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 - ten minutes


PLAN: Final[Listing[PlannedPolling]] = Listing(
    "plan",
    (
        Column("network", lambda each: each.network, "network"),
        Column("calls per transaction", lambda each: each.calls, "callsPerTransaction"),
        Column(
            "in force",
            lambda each: "yes" if each.is_in_force else "",
            "isInForce",
            lambda each: each.is_in_force,
        ),
        Column("tracked", lambda each: each.tracked, "tracked"),
        Column("calls a day", lambda each: each.asked.calls, "callsPerDay"),
        Column("credits a day", lambda each: each.asked.credits, "creditsPerDay"),
        Column("calls for fees", lambda each: each.fees.calls, "feeCallsPerDay"),
        Column("credits for fees", lambda each: each.fees.credits, "feeCreditsPerDay"),
        Column(
            "less often",
            lambda each: f"{factor(each.stretch)} times" if each.stretch > 1 else "",
            "stretch",
            lambda each: round(each.stretch, 2),
        ),
        Column(
            "mean delay",
            lambda each: "" if each.delay is None else in_seconds(each.delay.mean),
            "meanDelaySeconds",
            lambda each: None if each.delay is None else _tenths(each.delay.mean),
        ),
        Column(
            "p99 delay",
            lambda each: "" if each.delay is None else in_seconds(each.delay.p99),
            "p99DelaySeconds",
            lambda each: None if each.delay is None else _tenths(each.delay.p99),
        ),
    ),
    "No network has an endpoint that is asked.",
)


def _tenths(length: timedelta) -> float:
    return round(length.total_seconds(), 1)
