"""What asking takes at the present load, and what other settings would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dashboard.application.application import Application
from dashboard.application.network_status import NetworkProfile
from dashboard.application.polling_plan import PlannedPolling, PollingPlan, planned_polling
from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.budgets import Budget, BudgetState
from dashboard.domain.health.observation import Cost, Spent
from dashboard.domain.rejections.line_limits import LimitsEnd, LineLimits
from dashboard.domain.tracking.cadence import FOLLOW_UP_CADENCE, CadencePolicy, calls_between
from dashboard.store.tracking.search import AgeGroup
from tests.browser.seeded_store import SIMULATED
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, DAY, seconds

FEES = Spent(10, 1000)
HOSTED = replace(
    SIMULATED,
    network_id=A_NETWORK,
    cost=Cost({"": Spent(1, 80)}, {"": FEES}),
    sees_all_reports=False,
)
SHARED = replace(
    HOSTED, name="Shared", cost=Cost({"b": Spent(2, 160), "": Spent(1, 0)}, {"b": FEES})
)
OTHER = replace(SHARED, network_id=ANOTHER_NETWORK, name="Other")


def a_load(age: timedelta, *, is_rejected: bool = False) -> list[AgeGroup]:
    return [AgeGroup(A_NETWORK, is_rejected, 1000, A_MOMENT - age)]


def in_force(load: list[AgeGroup], limits: LineLimits | None = None) -> PlannedPolling:
    profile = HOSTED if limits is None else replace(HOSTED, line_limits=limits)
    [found] = (each for each in lines(profile, load=load) if each.is_in_force)
    return found


def lines(
    *profiles: NetworkProfile, load: list[AgeGroup], budget: BudgetState | None = None
) -> Sequence[PlannedPolling]:
    return planned_polling(profiles, load, (), [] if budget is None else [budget], A_MOMENT).lines


def test_calls_of_a_day_are_those_at_every_age_that_is_there() -> None:
    evenly = [
        AgeGroup(A_NETWORK, False, 10, A_MOMENT - timedelta(hours=hours + 0.5))  # noqa: FBT003 - is_rejected
        for hours in range(7 * 24 + 2)
    ]

    planned = in_force(evenly)

    assert planned.tracked == 1700
    assert planned.asked.calls == pytest.approx(240 * 220, rel=0.03)
    assert planned.asked.credits == planned.asked.calls * 80
    assert planned.fees == FEES


def test_other_settings_scale_calls_and_delays() -> None:
    half, ours, double, most = lines(HOSTED, load=a_load(DAY / 2))

    assert [each.calls for each in (half, ours, double, most)] == [110, 220, 440, 880]
    assert double.asked.calls == pytest.approx(2 * ours.asked.calls, rel=0.02)
    delays = [each.delay.mean for each in (half, ours, double, most) if each.delay]
    assert delays == sorted(delays, reverse=True)
    assert len(set(delays)) == 4


def test_every_endpoint_that_is_asked_counts() -> None:
    one, all_ = (lines(each, load=a_load(DAY / 2))[1] for each in (HOSTED, SHARED))

    assert all_.asked == Spent(3 * one.asked.calls, 2 * one.asked.credits)


def test_short_budget_is_shared_by_its_networks_and_stretches_what_is_asked() -> None:
    load = [*a_load(DAY / 2), AgeGroup(ANOTHER_NETWORK, False, 1000, A_MOMENT - DAY / 2)]  # noqa: FBT003 - is_rejected
    wanted = sum(each.asked.credits for each in lines(SHARED, OTHER, load=load) if each.is_in_force)
    budget = Budget("b", credits_per_day=wanted // 2 + 2 * FEES.credits, reserve=0)

    plan = planned_polling((SHARED, OTHER), load, (), [BudgetState(budget, {})], A_MOMENT)

    ours, theirs = (each for each in plan.lines if each.is_in_force)
    double = next(each for each in plan.lines if each.calls == 440)
    usual = lines(SHARED, load=load)[1]
    assert ours.stretch == theirs.stretch == pytest.approx(2)
    assert ours.asked.credits == pytest.approx(wanted / 4, rel=0.01)
    assert double.stretch == pytest.approx(3, rel=0.01)
    assert ours.delay is not None
    assert usual.delay is not None
    assert ours.delay.mean > 1.5 * usual.delay.mean
    said = " ".join(plan.in_words())
    assert f"has {budget.credits_per_day:,} credits a day for polls" in said
    assert "each is asked about 2.0 times less often" in said


def test_month_that_is_nearly_spent_is_in_the_plan() -> None:
    budget = Budget("b", credits_per_month=10**9, reserve=0)
    load, spent = a_load(DAY / 2), {BudgetPeriod.MONTH: 10**9 - 1, BudgetPeriod.DAY: 0}

    short, enough = (
        planned_polling([SHARED], load, (), [BudgetState(budget, each)], A_MOMENT)
        for each in (spent, {})
    )

    assert short.lines[1].stretch == 1000
    assert enough.lines[1].stretch == 1
    assert "that is enough" in " ".join(enough.in_words())


def test_network_with_fees_alone_is_in_the_plan() -> None:
    plan = planned_polling([replace(HOSTED, has_exclusion=False)], [], [], [], A_MOMENT)

    [planned] = plan.lines
    assert "A delay is" not in " ".join(plan.in_words())
    assert (planned.asked, planned.fees, planned.delay) == (Spent(), FEES, None)


def test_what_is_rejected_or_seen_after_line_limits_takes_less() -> None:
    usual = in_force(a_load(DAY / 2)).asked.calls
    rejected = in_force(a_load(DAY / 2, is_rejected=True)).asked.calls
    ended = LimitsEnd(A_MOMENT - DAY)
    seldom = in_force(a_load(DAY / 2), LineLimits((), ended)).asked.calls
    never = in_force(a_load(DAY / 2), LineLimits((), ended, is_asked_after=False)).asked.calls

    assert usual > 4 * rejected > 4 * seldom > never == 0


def test_what_is_in_a_block_takes_a_few_calls() -> None:
    [usual] = a_load(DAY / 2)
    included = usual._replace(included_after=timedelta(seconds=20))

    assert in_force([usual]).asked.calls > 10_000
    assert in_force([included]).asked.calls == pytest.approx(12_000, abs=2000)


def followed(age: timedelta, **known: Any) -> PollingPlan:  # noqa: ANN401 - of an `AgeGroup`
    """Plan a network whose node is charged to a budget that suffices for questions alone."""
    cost = Cost({"b": Spent(1, 80)}, receipt={"b": Spent(1, 80)}, receipts=150)
    load = a_load(age)
    asked = lines(replace(HOSTED, cost=Cost(cost.question)), load=load)[1].asked
    budget = Budget("b", credits_per_day=asked.credits, reserve=0)
    follow_ups = [load[0]._replace(**known)]
    return planned_polling(
        [replace(HOSTED, cost=cost)], load, follow_ups, [BudgetState(budget, {})], A_MOMENT
    )


def test_receipts_that_a_budget_is_charged_for_are_in_the_plan() -> None:
    open_, included = (followed(DAY / 2, **each) for each in ({}, {"included_after": seconds(15)}))

    [budget], [included_budget] = open_.budgets, included.budgets
    receipts = 80 * 1000 * calls_between(-DAY / 2, DAY / 2, FOLLOW_UP_CADENCE)
    assert budget.wanted == budget.for_polls + receipts + receipts // 10
    assert "each is asked about 1." in budget.sentence()
    assert open_.lines[1].asked.credits == pytest.approx(budget.for_polls, rel=0.001)
    # asked at once, when it is in a block, and when that is final
    assert included_budget.wanted == included_budget.for_polls + 80 * 3 * 1100
    assert "it suffices" not in included_budget.sentence()


def test_receipts_are_asked_for_from_when_a_transaction_was_tracked() -> None:
    late, early, rejected, asked = (
        followed(6 * DAY, **each).budgets[0].wanted
        for each in (
            {"born_at": A_MOMENT - DAY / 2},
            {},
            {"is_rejected": True},
            {"included_after": -DAY},
        )
    )

    assert late - asked > 9 * (early - asked) > 0
    assert rejected - asked == 2 * (early - asked)


def test_network_without_charges_has_no_other_setting_to_choose() -> None:
    cost = Cost({"": Spent(1, 0)})
    free = replace(HOSTED, cost=cost, cadence=CadencePolicy(22), sees_all_reports=True)

    plan = planned_polling([free], a_load(DAY), (), [], A_MOMENT)

    [planned] = plan.lines
    assert (planned.calls, planned.asked.credits) == (22, 0)
    assert "Devnet: asked about a tenth as often" in " ".join(plan.in_words())
    assert "Devnet" not in " ".join(plan.of(["Linea"]).in_words())


def test_plan_says_what_it_rests_on(queries: Application) -> None:
    plan = queries.health.plan()

    words = " ".join(plan.in_words())

    calls = sum(each.asked.calls + each.fees.calls for each in plan.lines if each.is_in_force)
    assert f"{calls:,} call" in words
    assert calls_between(-DAY, timedelta(), CadencePolicy()) == 1
