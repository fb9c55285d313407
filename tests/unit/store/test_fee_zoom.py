"""Any stretch of time is told as its single values would tell it, in a bounded number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from dashboard.domain.fees.gas import MINUTE, FeeSeries, GasObservation, RollupLevel, TimedFee
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.fees.save import save_gas
from dashboard.store.fees.series import (
    MOST_ROWS,
    ChartRange,
    FeeStep,
    SeriesWindow,
    fee_steps,
    first_seen_at,
    fitting_level,
    level_for,
    percentile_steps,
    whole_steps,
)
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.schema.columns import milliseconds_of, moment_of
from tests.builders import A_MOMENT, A_NETWORK, suggested_gas_fees
from tests.databases import copied_store
from tests.rolled_up_series import FeeRollup

HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE
BASE_FEE = SeriesKey(A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE)
NOON = milliseconds_of(A_MOMENT)
LENGTHS = (1000, 10_000, MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 90_000)
TIMES = (st.integers(-HOUR, HOUR) | st.integers(-3 * DAY, 3 * DAY)).map(lambda each: NOON + each)
FEES = st.integers(0, 10**12).map(Wei)

EVERY_ZOOM = [
    (timedelta(minutes=10), timedelta(seconds=1)),
    (timedelta(hours=6), timedelta(seconds=10)),
    (timedelta(days=2), timedelta(minutes=1)),
    (timedelta(days=7), timedelta(minutes=15)),
    (timedelta(days=90), timedelta(hours=1)),
    (timedelta(days=365), timedelta(hours=12)),
    (timedelta(days=3650), timedelta(days=1)),
    (timedelta(days=3650), timedelta(seconds=1)),
]


def save(store: Store, values: dict[int, Wei]) -> None:
    """See a base fee, and the same as a threshold, at each time."""
    with store.write() as connection:
        for at, fee in values.items():
            fees = suggested_gas_fees(estimated_base_fee=fee)
            seen = GasObservation(A_NETWORK, moment_of(at), fees, busy_threshold=fee)
            save_gas(connection, seen)


def told(values: Sequence[TimedFee], length: int) -> list[FeeStep]:
    """Return the steps of some values, the plain way."""
    steps: list[FeeStep] = []
    for _, some in groupby(values, lambda each: each.at // length):
        rollup = FeeRollup.of_all(some)
        median, p90 = rollup.percentiles(50, 90)
        gap, first = timedelta(milliseconds=rollup.longest_gap), moment_of(rollup.first_at)
        if steps:
            gap = max(gap, first - steps[-1].last_at)
        mean, last = rollup.total / rollup.seen, moment_of(rollup.last_at)
        bounds = rollup.lowest, rollup.highest
        steps.append(FeeStep(first, last, *bounds, mean, rollup.seen, 0, median, p90, gap))
    return steps


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=12,
    phases=[Phase.generate],
)
@given(
    values=st.dictionaries(TIMES, FEES, min_size=1, max_size=12),
    spans=st.lists(st.tuples(TIMES, TIMES, st.sampled_from(LENGTHS)), min_size=4, max_size=12),
)
def test_steps_are_those_of_the_single_values(
    store: Store, values: dict[int, Wei], spans: list[tuple[int, int, int]]
) -> None:
    save(store, values)
    with store.read() as connection:
        kept = [
            TimedFee(*each)
            for each in connection.execute(
                text("SELECT asked_at, estimated_base_fee FROM suggested_gas_fees ORDER BY 1")
            )
        ]
        for *ends, length in spans:
            since, until = min(ends), max(ends)
            between = ChartRange(moment_of(since), moment_of(until), timedelta(milliseconds=length))
            level = level_for(connection, BASE_FEE, between.window, length)
            step = length if level is None else whole_steps(level, length)
            inside = [each for each in kept if since <= each.at <= until]
            before = [each for each in kept if each.at < since][-1:]

            steps = fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)
            marks = percentile_steps(connection, A_NETWORK, Operation.BUSY_THRESHOLD, between)

            assert list(steps) == told(inside, step)
            last = {each.at // step: each for each in inside}
            assert list(zip(marks.asked_at.tolist(), marks.fees.tolist(), strict=True)) == [
                (each.at, each.fee) for each in [*before, *last.values()]
            ]


@pytest.mark.parametrize(
    ("stretch", "step", "level"),
    [
        (10 * MINUTE, 1000, None),
        (2 * DAY, MINUTE, RollupLevel.MINUTE),
        (3 * DAY, 15 * MINUTE, RollupLevel.MINUTE),
        (7 * DAY, 15 * MINUTE, RollupLevel.HOUR),
        (7 * DAY, 90_000, RollupLevel.HOUR),
        (180 * DAY, 2 * HOUR, RollupLevel.HOUR),
        (365 * DAY, HOUR, RollupLevel.DAY),
        (10 * DAY, 7 * DAY, RollupLevel.DAY),
        (100 * 365 * DAY, DAY, RollupLevel.DAY),
    ],
)
def test_stretch_is_read_by_the_level_that_fits(
    stretch: int, step: int, level: RollupLevel | None
) -> None:
    assert fitting_level(SeriesWindow(NOON - stretch, NOON), step) is level


def fill_ten_years(url: str) -> None:
    """Keep ten years of fees and thresholds, the last 110 days by the hour, and some polls."""
    first = NOON // DAY * DAY - 3650 * DAY
    last, hourly = first + 3649 * DAY, first + 3540 * DAY
    at = np.concatenate([np.arange(first, hourly, DAY), np.arange(hourly, last, HOUR)])
    with open_store(url) as store:
        with store.write() as connection:
            for series in (FeeSeries.ESTIMATED_BASE_FEE, FeeSeries.BUSY_THRESHOLD):
                import_fee_years(connection, A_NETWORK, series, at, at % 997)
        save(store, {NOON - 10_000 * number: Wei(7) for number in range(60)})


@pytest.fixture(name="ten_years")
def store_of_ten_years(database: str, tmp_path: Path) -> Iterator[Store]:
    """Yield a copy of a store that is filled once for all tests."""
    with copied_store(database, tmp_path, fill_ten_years) as url, open_store(url) as store:
        yield store


def rows_read(connection: Connection, between: ChartRange) -> int:
    """Return how many rows of a table or index were looked at to tell a stretch of time."""
    counted = text(
        "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) "
        "FROM pg_stat_xact_user_tables"
    )
    before = connection.execute(counted).scalar_one()
    fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)
    percentile_steps(connection, A_NETWORK, Operation.BUSY_THRESHOLD, between)
    return int(connection.execute(counted).scalar_one() - before)


def steps_run(connection: Connection, between: ChartRange) -> int:
    """Return how many instructions SQLite ran to tell a stretch of time, in thousands."""
    ran = 0

    def count() -> int:
        nonlocal ran
        ran += 1
        return 0

    driver = connection.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(count, 1000)
    fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)
    percentile_steps(connection, A_NETWORK, Operation.BUSY_THRESHOLD, between)
    driver.set_progress_handler(None, 0)
    return ran


def test_any_zoom_reads_a_bounded_number_of_rows(ten_years: Store, database: str) -> None:
    for length, step in EVERY_ZOOM:
        for until in (A_MOMENT, A_MOMENT - timedelta(days=400, seconds=7)):
            between = ChartRange(until - length, until, step)
            with ten_years.read() as connection:
                if database == "sqlite":
                    assert steps_run(connection, between) * 1000 < 20 * 2 * (MOST_ROWS + 600)
                else:
                    assert rows_read(connection, between) < 2 * (MOST_ROWS + 600)
                steps = fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)
            assert len(steps) <= MOST_ROWS + 2
            assert len(steps) or length < timedelta(days=1)


def test_newest_value_is_told_at_any_zoom(ten_years: Store) -> None:
    with ten_years.read() as connection:
        assert first_seen_at(connection, A_NETWORK) == moment_of(NOON // DAY * DAY - 3650 * DAY)
        for length, step in EVERY_ZOOM:
            between = ChartRange(A_MOMENT - length, A_MOMENT, step)
            newest = fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)[-1]
            assert newest.last_at == A_MOMENT


def test_roll_up_whose_values_are_not_kept_stays_whole(ten_years: Store) -> None:
    noon = A_MOMENT - timedelta(days=30)
    between = ChartRange(
        noon + timedelta(seconds=1), noon + timedelta(hours=2), timedelta(minutes=1)
    )

    with ten_years.read() as connection:
        steps = fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)

    assert [step.first_at - noon for step in steps] == [timedelta(hours=1), timedelta(hours=2)]


def test_time_whose_minutes_are_forgotten_is_told_in_hours(store: Store) -> None:
    save(store, {NOON + second * 30_000: Wei(7) for second in range(5)})
    with store.write() as connection:
        connection.execute(text("DELETE FROM fee_rollups WHERE level = 1"))
        connection.execute(text("DELETE FROM suggested_gas_fees"))
    between = ChartRange(A_MOMENT, A_MOMENT + timedelta(minutes=10), timedelta(seconds=1))

    with store.read() as connection:
        [step] = fee_steps(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, between)

    assert step.values == 5
