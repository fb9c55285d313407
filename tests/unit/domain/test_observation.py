"""What was observed, and whom it is believed."""

from __future__ import annotations

from datetime import timedelta
from itertools import combinations

from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.observation import (
    Failure,
    FailureKind,
    Operation,
    Spent,
    longest_retry_after,
)
from tests.builders import A_MOMENT, A_NETWORK


def test_what_was_made_up_gives_way_to_the_node_instead_and_that_to_all_others() -> None:
    worst_first = (GasSource.DEMO_HISTORY, GasSource.NODE_INSTEAD, GasSource.GAS_API)

    for worse, better in combinations(worst_first, 2):
        assert better.is_better_than(worse)
        assert not worse.is_better_than(better)


def test_node_and_gas_api_are_believed_alike() -> None:
    assert not GasSource.NODE.is_better_than(GasSource.GAS_API)
    assert not GasSource.GAS_API.is_better_than(GasSource.NODE)


def test_source_that_is_not_named_is_the_gas_api() -> None:
    sources = {Operation.BUSY_THRESHOLD: GasSource.NODE}
    observation = GasObservation(A_NETWORK, A_MOMENT, sources=sources)

    assert observation.source_of(Operation.BUSY_THRESHOLD) is GasSource.NODE
    assert observation.source_of(Operation.SUGGESTED_GAS_FEES) is GasSource.GAS_API


def test_calls_and_credits_add_up() -> None:
    assert Spent(1, 80) + Spent(2) == Spent(3, 80)


def test_longest_of_the_pauses_that_an_upstream_asks_for_is_kept() -> None:
    waits = (None, timedelta(seconds=30), timedelta(minutes=2))
    failures = [Failure(FailureKind.THROTTLED, "", wait) for wait in waits]

    assert longest_retry_after(failures) == timedelta(minutes=2)
    assert longest_retry_after(failures[:1]) == timedelta()
