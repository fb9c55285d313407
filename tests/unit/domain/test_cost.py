"""What asking for fees costs is told before it is spent."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.fees.gas import GasPeriods, gas_calls_per_day
from dashboard.domain.health.observation import Cost
from tests.builders import seconds


def test_fees_cost_a_call_of_each_operation_in_its_period() -> None:
    periods = GasPeriods(seconds(12), timedelta(minutes=15), timedelta(minutes=15))

    assert gas_calls_per_day(periods) == 7200 + 3 * 96


def test_all_four_operations_each_twelve_seconds_cost_what_the_price_list_says() -> None:
    cost = Cost(gas_calls=gas_calls_per_day(GasPeriods(seconds(12), seconds(12), seconds(12))))

    assert cost.gas_credits == 2_304_000
