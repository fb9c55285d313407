"""What asking costs is told before it is spent."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.observation import Cost, Spent
from tests.builders import seconds


def test_fees_cost_a_call_of_each_operation_in_its_period() -> None:
    periods = GasPeriods(seconds(12), timedelta(minutes=15), timedelta(minutes=15))

    assert sum(periods.calls_per_day().values()) == 7200 + 3 * 96


def test_all_four_operations_each_twelve_seconds_cost_what_the_price_list_says() -> None:
    periods = GasPeriods(seconds(12), seconds(12), seconds(12))

    assert 80 * sum(periods.calls_per_day().values()) == 2_304_000


def test_cost_adds_up_what_every_endpoint_and_budget_takes() -> None:
    cost = Cost({"": Spent(1, 80), "second": Spent(1, 10)}, {"second": Spent(5, 50)})

    assert cost.of_question == Spent(2, 90)
    assert cost.of_checks(10) == Spent(20, 900)
    assert cost.of_fees == Spent(5, 50)
    assert Cost(receipt={"second": Spent(1, 10)}, receipts=150).of_receipts == Spent(150, 1500)
    assert not cost.is_free
    assert not Cost(receipt={"second": Spent(1, 10)}, receipts=150).is_free
    assert Cost({"": Spent(1, 0)}).is_free
