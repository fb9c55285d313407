"""Budgets: what is allowed and how far polls stretch; transports: how an endpoint is asked."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.budgets import FREE, Budget, BudgetState, factor, stretch_for
from dashboard.domain.health.transport_state import Transport, TransportState
from tests.builders import A_MOMENT

DAY = BudgetPeriod.DAY
HALF_A_DAY = 12 * 3600


STATUS = "getTransactionExclusionStatusV1"


def test_methods_cost_what_is_said_of_them_with_any_prefix() -> None:
    budget = Budget("b", credits_per_call=80, credits={STATUS: 5, "eth_feeHistory": 20})

    assert budget.cost(STATUS) == 5
    assert budget.cost(f"linea_{STATUS}", 3) == 15
    assert budget.cost("eth_feeHistory") == 20
    assert budget.cost("busyThreshold", 2) == 160
    assert FREE.cost("busyThreshold") == 0


def test_factor_has_a_tenth_below_ten() -> None:
    assert (factor(2.345), factor(23.45), factor(1000.0)) == ("2.3", "23", "1,000")


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
    assert "2.5 times less often than usual" in short.sentences(A_MOMENT)[1]


def test_budget_without_credits_limits_requests_alone() -> None:
    budget = Budget("gateway", requests_per_second=50)

    assert budget.limits(for_people=True) == {}
    assert BudgetState(budget, {}).sentences(A_MOMENT) == ["It limits requests alone, not credits."]


def test_polls_and_people_share_what_is_allowed() -> None:
    budget = Budget("gateway", credits_per_day=1000, reserve=20)

    assert budget.limits(for_people=True) == {DAY: 1000}
    assert budget.limits(for_people=False) == {DAY: 800}
    assert budget.share(50, for_people=True) + budget.share(50, for_people=False) == 50
    assert budget.share(50, for_people=True) == 10


def test_people_without_a_reserve_have_the_limits_of_polls() -> None:
    budget = Budget("gateway", reserve=0)

    assert budget.share(50, for_people=True) == budget.share(50, for_people=False) == 50


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (TransportState(Transport.HTTP), "HTTP: not used now"),
        (
            TransportState(Transport.WEBSOCKET, trouble="no answer"),
            "WebSocket: not used now (no answer)",
        ),
        (
            TransportState(Transport.HTTP, accepted=1, is_used=True, trouble="HTTP 413"),
            "HTTP: one hash in each request (HTTP 413)",
        ),
        (
            TransportState(Transport.WEBSOCKET, accepted=1000, is_used=True),
            "WebSocket: up to 1,000 hashes in each request",
        ),
    ],
)
def test_transport_says_how_an_endpoint_is_asked(state: TransportState, said: str) -> None:
    assert state.in_words() == said
