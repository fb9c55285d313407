"""Each base fee is judged by the busy threshold that held when it was seen, and counted so."""

from __future__ import annotations

from sqlalchemy import update

from dashboard.domain.fee_rollup import FeeSeries, RollupLevel, TimedFee
from dashboard.domain.gas import GasObservation, GasSource
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.domain.retention import Before
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import import_gas_history
from dashboard.store.fees.series import ChartRange, fee_steps
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.gas import save_gas
from dashboard.store.maintenance.derived_rollups import wrong_rollups
from dashboard.store.retention.apply import apply_retention
from dashboard.store.schema import fee_rollups
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import A_MOMENT, A_NETWORK, seconds, suggested_gas_fees

NOON = milliseconds_of(A_MOMENT)
MADE_UP = dict.fromkeys(Operation, GasSource.DEMO_HISTORY)


def seen(second: int, fee: int, threshold: int | None = None, **more: object) -> GasObservation:
    """Return an observation at some seconds past noon, with a threshold or without."""
    fees = suggested_gas_fees(estimated_base_fee=Wei(fee))
    at, level = A_MOMENT + seconds(second), None if threshold is None else Wei(threshold)
    return GasObservation(A_NETWORK, at, fees, busy_threshold=level, **more)  # type: ignore[arg-type]  # any field


def judged(connection: Connection) -> dict[int, int]:
    """Return what was judged: 1 (busy) or 0, by seconds past noon."""
    of = SeriesKey(A_NETWORK, FeeSeries.IS_BUSY)
    values = fee_values(connection, of, NOON - 10**7, NOON + 10**7)
    return {(at - NOON) // 1000: is_busy for at, is_busy, _ in values}


def counted(connection: Connection) -> tuple[int, float]:
    """Return how many values roll-ups tell of the hour from noon, and the share of busy ones."""
    between = ChartRange(A_MOMENT, A_MOMENT + seconds(3599), seconds(3600))
    [hour] = fee_steps(connection, A_NETWORK, FeeSeries.IS_BUSY, between)
    assert list(wrong_rollups(connection)) == []
    return hour.values, hour.mean


def test_busy_is_strictly_above_the_threshold_at_or_before(store: Store) -> None:
    polls = [seen(0, 9), seen(4, 11, 10), seen(8, 10), seen(12, 11), seen(16, 11, 12), seen(20, 12)]
    with store.write() as connection:
        for each in polls:
            save_gas(connection, each)

        assert judged(connection) == {4: 1, 8: 0, 12: 1, 16: 0, 20: 0}
        assert counted(connection) == (5, 2 / 5)


def test_late_value_is_judged_by_the_threshold_of_its_time(store: Store) -> None:
    with store.write() as connection:
        for each in (seen(0, 5, 10), seen(60, 5, 20), seen(30, 15), seen(90, 15)):
            save_gas(connection, each)

        assert judged(connection) == {0: 0, 30: 1, 60: 0, 90: 0}
        assert counted(connection) == (4, 1 / 4)


def test_value_in_the_place_of_another_is_judged_anew(store: Store) -> None:
    with store.write() as connection:
        for each in (seen(0, 5, 10), seen(30, 15, sources=MADE_UP), seen(30, 7)):
            save_gas(connection, each)

        assert counted(connection) == (2, 0)


def test_value_in_the_place_of_one_that_was_not_judged_is_counted(store: Store) -> None:
    with store.write() as connection:
        save_gas(connection, seen(30, 15, sources=MADE_UP))
        for each in (seen(0, 5, 10), seen(30, 17)):
            save_gas(connection, each)

        assert counted(connection) == (2, 1 / 2)


def test_blocks_that_no_poll_saw_are_judged_too(store: Store) -> None:
    history = (Wei(30), Wei(8), Wei(40), Wei(9))
    with store.write() as connection:
        save_gas(connection, seen(0, 5, 20))
        save_gas(connection, seen(8, 9, base_fee_history=history), seconds(2))

        assert judged(connection) == {0: 0, 2: 1, 4: 0, 6: 1, 8: 0}


def test_poll_of_an_estimated_moment_takes_its_place(store: Store) -> None:
    history = (Wei(30), Wei(8), Wei(40), Wei(9))
    with store.write() as connection:
        save_gas(connection, seen(0, 5, 20))
        save_gas(connection, seen(8, 9, base_fee_history=history), seconds(2))
        save_gas(connection, seen(6, 19))

        assert judged(connection) == {0: 0, 2: 1, 4: 0, 6: 0, 8: 0}
        assert counted(connection) == (5, 1 / 5)


def test_history_is_judged_by_its_own_thresholds_and_those_before(store: Store) -> None:
    with store.write() as connection:
        save_gas(connection, seen(0, 5, 10))
        import_gas_history(connection, [seen(60, 15), seen(64, 15, 20), seen(68, 25), seen(-4, 15)])

        assert judged(connection) == {0: 0, 60: 1, 64: 0, 68: 1}
        assert counted(connection) == (4, 2 / 4)


def test_busy_time_that_is_counted_wrong_is_found(store: Store) -> None:
    with store.write() as connection:
        for each in (seen(0, 15, 10), seen(4, 5)):
            save_gas(connection, each)
        column = fee_rollups.c
        spoilt = (column.series == FeeSeries.IS_BUSY, column.level == RollupLevel.MINUTE)
        connection.execute(update(fee_rollups).where(*spoilt).values(total=2))

        found, *_ = wrong_rollups(connection)
        assert "the is_busy of network" in found.what
        assert "total 2 instead of 1" in found.what


def test_threshold_that_is_kept_no_longer_still_judges(store: Store) -> None:
    with store.write() as connection:
        save_gas(connection, seen(0, 5, 10))
    for _ in apply_retention(store, Before(fees=A_MOMENT + seconds(60))):
        pass
    with store.write() as connection:
        save_gas(connection, seen(120, 15))

        assert fee_values(
            connection, SeriesKey(A_NETWORK, FeeSeries.IS_BUSY), NOON, NOON + 10**6
        ) == [TimedFee(NOON + 120_000, Wei(1))]
        assert counted(connection) == (2, 1 / 2)
