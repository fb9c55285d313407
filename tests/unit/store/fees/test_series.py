"""Series for charts: in steps, no peak lost, every level at its time."""

from __future__ import annotations

from itertools import product

from dashboard.domain.fees.gas import FeeSeries, GasObservation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store
from dashboard.store.fees.rollups import line_between
from dashboard.store.fees.save import save_gas
from dashboard.store.fees.series import (
    ChartRange,
    FeeSteps,
    fee_means,
    fee_steps,
    first_seen_at,
)
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    MINUTE,
    a_suggestion,
    seconds,
    suggested_gas_fees,
)

TEN_MINUTES = ChartRange(A_MOMENT, A_MOMENT + 10 * MINUTE, MINUTE)


def see(store: Store, second: float, base_fee: int, priority_fee: int = 1) -> None:
    """See a base fee and a medium priority fee at that second."""
    fees = suggested_gas_fees(
        estimated_base_fee=Wei(base_fee), medium=a_suggestion(priority_fee, base_fee)
    )
    with store.write() as connection:
        save_gas(connection, GasObservation(A_NETWORK, A_MOMENT + seconds(second), fees))


def steps_of(store: Store, kind: FeeSeries = FeeSeries.ESTIMATED_BASE_FEE) -> FeeSteps:
    """Return the minutes of ten minutes."""
    with store.read() as connection:
        return fee_steps(connection, A_NETWORK, kind, TEN_MINUTES)


def test_both_ends_of_the_time_are_included(store: Store) -> None:
    for second in (-1, 0, 600, 601):
        see(store, second, 1000 + second)

    assert [step.lowest for step in steps_of(store)] == [1000, 1600]


def test_values_of_a_history_are_counted_as_estimated(store: Store) -> None:
    seen = GasObservation(A_NETWORK, A_MOMENT + seconds(120), base_fee_history=(Wei(3),) * 40)
    with store.write() as connection:
        save_gas(connection, seen, block_time=seconds(2))

    counted = [(step.values, step.estimated) for step in steps_of(store)]
    assert counted == [(9, 9), (30, 30), (1, 1)]


def test_priority_fees_make_a_series_of_their_own(store: Store) -> None:
    see(store, 0, 7, priority_fee=5)

    (step,) = steps_of(store, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)

    assert step.lowest == 5


def test_other_network_is_not_mixed_in(store: Store) -> None:
    see(store, 0, 7)

    with store.read() as connection:
        assert not len(
            fee_steps(connection, ANOTHER_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, TEN_MINUTES)
        )


def test_first_sight_is_the_oldest_of_what_was_seen_or_estimated(store: Store) -> None:
    see(store, 100, 1)
    see(store, 200, 1)

    with store.read() as connection:
        assert first_seen_at(connection, A_NETWORK) == A_MOMENT + seconds(100)
        assert first_seen_at(connection, ANOTHER_NETWORK) is None


def test_small_line_has_the_mean_of_each_step(store: Store) -> None:
    for second, base_fee in ((0, 4), (61, 8), (70, 8), (299, 3), (400, 6)):
        see(store, second, base_fee)
    begin, step = milliseconds_of(A_MOMENT), 300_000

    with store.read() as connection:
        key = SeriesKey(A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE)
        rows = line_between(connection, key, begin, begin + 4 * step, step)

    assert [(at - begin // step, float(mean)) for at, mean in rows] == [(0, 5.0), (1, 6.0)]


def test_means_are_those_of_the_steps(store: Store) -> None:
    for second in range(0, 700, 23):
        see(store, second, 10**9 + second**3 % 977)
    key = (A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE)

    with store.read() as connection:
        for since, until, step in product((0, 33, 61), (61, 334, 901), (1, 5, 60, 180, 3600)):
            of = ChartRange(A_MOMENT + seconds(since), A_MOMENT + seconds(until), seconds(step))
            steps, means = fee_steps(connection, *key, of), fee_means(connection, *key, of)

            assert means.first_at.tolist() == steps.first_at.tolist()
            assert means.last_at.tolist() == steps.last_at.tolist()
            assert means.values.tolist() == steps.values.tolist()
            assert means.means.tolist() == steps.means.tolist()
