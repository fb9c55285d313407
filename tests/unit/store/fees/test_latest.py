"""Gas observations come back exactly, each with its age, and gaps stay gaps."""

from __future__ import annotations

from typing import Any

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.store.engine.engine import Store
from dashboard.store.fees.latest import LatestGas, latest_gas, latest_gas_of
from dashboard.store.fees.save import save_gas
from dashboard.store.fees.stored_fees import (
    Dated,
    FeeBounds,
    fees_answered_at,
    percentile_answered_by_api_at,
    priority_fee_window,
)
from dashboard.store.monitoring.answer_counts import StandingFailure
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    DAY,
    a_suggestion,
    seconds,
    suggested_gas_fees,
)

BLOCK_TIME = seconds(2)
SILENCE = Failure(FailureKind.UNAVAILABLE, "devnet gas endpoint: no answer")


def observe(store: Store, second: float, **seen: Any) -> GasObservation:  # noqa: ANN401 - any field
    """See something of a network's fees at that second, on a chain of two-second blocks."""
    fields: dict[str, Any] = {"network_id": A_NETWORK, "asked_at": A_MOMENT + seconds(second)}
    observation = GasObservation(**(fields | seen))
    with store.write() as connection:
        save_gas(connection, observation, BLOCK_TIME)
    return observation


def test_nothing_is_known_of_a_network_that_was_never_observed(store: Store) -> None:
    with store.read() as connection:
        assert latest_gas(connection, A_NETWORK, A_MOMENT + DAY) == LatestGas()


def test_observation_comes_back_exactly(store: Store) -> None:
    fees = suggested_gas_fees(
        high=a_suggestion(LARGEST_FEE, LARGEST_FEE), network_congestion=0.98305, version="0.0.1"
    )
    history = (Wei(7), LARGEST_FEE)
    seen = observe(
        store,
        0,
        suggested_gas_fees=fees,
        base_fee_history=history,
        base_fee_percentile=Wei(0),
        busy_threshold=LARGEST_FEE,
    )

    with store.read() as connection:
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + DAY)

    assert latest == LatestGas(
        Dated(fees, seen.asked_at),
        Dated(history, seen.asked_at),
        Dated(Wei(0), seen.asked_at),
        Dated(LARGEST_FEE, seen.asked_at),
    )


def test_each_latest_value_keeps_its_own_age(store: Store) -> None:
    observe(store, 0, base_fee_percentile=Wei(5), busy_threshold=Wei(9))
    observe(store, 60, busy_threshold=Wei(8))

    with store.read() as connection:
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + DAY)

    assert latest.base_fee_percentile == Dated(Wei(5), A_MOMENT)
    assert latest.busy_threshold == Dated(Wei(8), A_MOMENT + seconds(60))


def test_what_a_clock_dated_ahead_is_not_the_latest(store: Store) -> None:
    for second, fee in ((0, 5), (3600, 9)):
        fees = suggested_gas_fees(estimated_base_fee=Wei(fee))
        observe(store, second, suggested_gas_fees=fees, busy_threshold=Wei(fee))
    observe(store, 3600, base_fee_history=(Wei(9),), base_fee_percentile=Wei(9))

    with store.read() as connection:
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + seconds(4))

    assert latest == LatestGas(
        suggested_gas_fees=Dated(suggested_gas_fees(estimated_base_fee=Wei(5)), A_MOMENT),
        busy_threshold=Dated(Wei(5), A_MOMENT),
    )


def test_failure_stands_until_the_same_question_is_answered(store: Store) -> None:
    failures = ((Operation.BUSY_THRESHOLD, SILENCE), (Operation.SUGGESTED_GAS_FEES, SILENCE))
    observe(store, 0, failures=failures)
    observe(store, 4, failures=failures[:1], suggested_gas_fees=suggested_gas_fees())

    with store.read() as connection:
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + DAY)
    observe(store, 8, busy_threshold=Wei(9), base_fee_history=(), base_fee_percentile=Wei(1))
    with store.read() as connection:
        mended = latest_gas(connection, A_NETWORK, A_MOMENT + DAY)

    assert latest.failures == (
        StandingFailure(Operation.BUSY_THRESHOLD, A_MOMENT, A_MOMENT + seconds(4), SILENCE),
    )
    assert mended.failures == ()


def test_medium_priority_fees_of_a_time_come_in_order_of_size(store: Store) -> None:
    for second, fee in ((4, 2), (0, 1), (8, 3)):
        fees = suggested_gas_fees(medium=a_suggestion(priority_fee=fee))
        observe(store, second, suggested_gas_fees=fees)

    with store.read() as connection:
        found = priority_fee_window(connection, A_NETWORK, A_MOMENT, A_MOMENT + seconds(4))

    assert list(found) == [Wei(1), Wei(2)]


def test_answers_that_a_clock_ahead_dated_are_passed_over(store: Store) -> None:
    for second in (0, 60):
        fees = suggested_gas_fees()
        observe(store, second, suggested_gas_fees=fees, busy_threshold=Wei(7))

    with store.read() as connection:
        for read in (fees_answered_at, percentile_answered_by_api_at):
            assert read(connection, A_NETWORK, A_MOMENT - seconds(1)) is None
            assert read(connection, A_NETWORK, A_MOMENT + seconds(59)) == A_MOMENT
            assert read(connection, A_NETWORK, A_MOMENT + seconds(60)) == A_MOMENT + seconds(60)


def test_figures_of_several_networks_are_what_is_known_of_each(store: Store) -> None:
    fees = suggested_gas_fees(estimated_base_fee=Wei(9))
    observe(store, 0, suggested_gas_fees=suggested_gas_fees(estimated_base_fee=Wei(12)))
    observe(
        store,
        4,
        suggested_gas_fees=fees,
        base_fee_percentile=Wei(5),
        busy_threshold=Wei(LARGEST_FEE),
    )
    observe(store, 8, failures=((Operation.BASE_FEE_HISTORY, SILENCE),))

    with store.read() as connection:
        found = latest_gas_of(connection, [ANOTHER_NETWORK, A_NETWORK], A_MOMENT + DAY, DAY)
        known = latest_gas(connection, A_NETWORK, A_MOMENT + DAY)

    nothing, figures = found[ANOTHER_NETWORK], found[A_NETWORK]
    assert nothing == LatestGas()
    assert figures.suggested_gas_fees == known.suggested_gas_fees
    assert figures.base_fee_percentile == known.base_fee_percentile
    assert figures.busy_threshold == known.busy_threshold
    assert figures.failures == known.failures
    assert figures.recent == FeeBounds(2, Wei(9), Wei(12))
