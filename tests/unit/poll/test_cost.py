"""What watching costs is told before it is spent."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.health.observation import Cost
from dashboard.poll.cadence import (
    SELDOM,
    CadencePolicy,
    GasPeriods,
    calls_per_transaction,
    gas_calls_per_day,
)
from tests.builders import seconds


def test_fees_cost_a_call_of_each_operation_in_its_period() -> None:
    periods = GasPeriods(seconds(12), timedelta(minutes=15), timedelta(minutes=15))

    assert gas_calls_per_day(periods) == 7200 + 3 * 96


def test_all_four_operations_each_twelve_seconds_cost_what_the_price_list_says() -> None:
    cost = Cost(gas_calls=gas_calls_per_day(GasPeriods(seconds(12), seconds(12), seconds(12))))

    assert cost.gas_credits == 2_304_000


def test_transaction_that_stays_silent_costs_some_two_hundred_calls() -> None:
    calls = calls_per_transaction(CadencePolicy(shortest_interval=seconds(2)))

    assert 200 < calls < 250
    assert calls_per_transaction(SELDOM) == 9
    assert Cost(calls_per_transaction=calls).credits_per_transaction == calls * 80
