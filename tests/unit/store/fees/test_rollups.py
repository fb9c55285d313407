"""Roll-ups stay right as values arrive: in order, late, twice, replaced, and after forgetting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from dashboard.domain.fees.gas import (
    MINUTE,
    FeeSeries,
    GasObservation,
    GasSource,
    RollupLevel,
    TimedFee,
)
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import LARGEST_FEE, NetworkId, Wei
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import import_gas_history
from dashboard.store.fees.save import save_gas
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.maintenance.derived_rollups import wrong_rollups
from dashboard.store.schema import fee_rollups, suggested_gas_fees
from dashboard.store.schema.columns import milliseconds_of, moment_of
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_suggestion,
    seconds,
)
from tests.builders import (
    suggested_gas_fees as some_fees,
)
from tests.rolled_up_series import FeeRollup, roll_up, rollups_between

HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE
NOON = milliseconds_of(A_MOMENT)
EVER = (NOON - 100 * DAY, NOON + 100 * DAY)
BASE_FEE = SeriesKey(A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE)
SOURCES = (GasSource.GAS_API, GasSource.NODE_INSTEAD, GasSource.DEMO_HISTORY)

TIMES = (
    st.integers(0, 3 * MINUTE)
    | st.integers(-HOUR, 2 * HOUR)
    | st.integers(-2 * DAY, 2 * DAY)
    | st.sampled_from([each * length for each in (-1, 0, 1) for length in (MINUTE, HOUR, DAY)])
).map(lambda offset: NOON + offset)
FEES = (st.integers(0, 200) | st.integers(0, LARGEST_FEE - 1)).map(Wei)


def seen(at: int, fee: int, network_id: NetworkId = A_NETWORK, **more: object) -> GasObservation:
    """Return an observation of a base fee, and of one wei more as the priority fee."""
    fees = some_fees(estimated_base_fee=Wei(fee), medium=a_suggestion(fee + 1, fee))
    return GasObservation(network_id, moment_of(at), fees, **more)  # type: ignore[arg-type]  # any field


OBSERVATIONS = st.builds(
    lambda at, fee, network_id, source, marks: seen(
        at,
        fee,
        network_id,
        sources=dict.fromkeys(Operation, source),
        base_fee_percentile=fee if marks else None,
        busy_threshold=fee if marks else None,
    ),
    TIMES,
    FEES,
    st.sampled_from([A_NETWORK, ANOTHER_NETWORK]),
    st.sampled_from(SOURCES),
    st.booleans(),
)
HISTORIES = st.builds(
    lambda at, fees: GasObservation(A_NETWORK, moment_of(at), base_fee_history=tuple(fees)),
    TIMES,
    st.lists(FEES, max_size=40),
)
SAVES = st.one_of(OBSERVATIONS, OBSERVATIONS, HISTORIES, st.lists(OBSERVATIONS, max_size=8))
PATIENT = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=20,
)


class Undone(Exception):
    """Ends a transaction without a trace."""


@contextmanager
def undone(store: Store) -> Iterator[Connection]:
    """Open a transaction of which nothing stays, so that each example begins with nothing."""
    with suppress(Undone), store.write() as connection:
        yield connection
        raise Undone


def stored(connection: Connection, of: SeriesKey, level: RollupLevel) -> dict[int, FeeRollup]:
    return rollups_between(connection, of, level, *EVER)


def rolled_up(values: Sequence[TimedFee], level: RollupLevel) -> dict[int, FeeRollup]:
    """Roll values up one by one, as the plain reference."""
    return {each.begins_at: each.rollup for each in roll_up(sorted(values)) if each.level is level}


@PATIENT
@given(saves=st.lists(SAVES, max_size=15))
def test_rollups_are_those_of_what_is_stored(
    store: Store, saves: list[GasObservation | list[GasObservation]]
) -> None:
    with undone(store) as connection:
        for each in saves:
            if isinstance(each, list):
                import_gas_history(connection, each)
            else:
                save_gas(connection, each, seconds(2))
        for network_id in (A_NETWORK, ANOTHER_NETWORK):
            for of in (SeriesKey(network_id, series) for series in FeeSeries):
                values = fee_values(connection, of, *EVER)
                for level in RollupLevel:
                    assert stored(connection, of, level) == rolled_up(values, level)
        assert list(wrong_rollups(connection)) == []


FORGETTING = st.tuples(st.sampled_from(["values", "minutes"]), TIMES)


@pytest.mark.parametrize("database", ["sqlite"])
@PATIENT
@given(
    arrivals=st.dictionaries(TIMES, FEES, max_size=20),
    forgetting=st.lists(FORGETTING, max_size=3),
    chance=st.randoms(use_true_random=False),
)
def test_forgotten_values_still_count(
    store: Store, arrivals: dict[int, Wei], forgetting: list[tuple[str, int]], chance: object
) -> None:
    events: list[tuple[object, int]] = [*((fee, at) for at, fee in arrivals.items()), *forgetting]
    chance.shuffle(events)  # type: ignore[attr-defined]  # hypothesis' own Random
    with undone(store) as connection:
        for event, at in events:
            if isinstance(event, int):
                save_gas(connection, seen(at, event))
            else:
                forget(connection, str(event), at)
        for level in RollupLevel:
            exact = rolled_up([TimedFee(*each) for each in arrivals.items()], level)
            found = stored(connection, BASE_FEE, level)
            assert found.keys() == exact.keys() or level is RollupLevel.MINUTE
            for begins_at, rollup in found.items():
                assert rollup.longest_gap >= exact[begins_at].longest_gap
                rollup.longest_gap = exact[begins_at].longest_gap
                assert rollup == exact[begins_at]
        # Settings never allow minutes to be forgotten before their values.
        if all(kind != "minutes" for kind, _ in forgetting):
            assert [each.what for each in wrong_rollups(connection)] == []


def forget(connection: Connection, kind: str, before: int) -> None:
    """Forget values or minutes from before a time, as retention does in small steps."""
    if kind == "values":
        old = suggested_gas_fees.c.asked_at < moment_of(before)
        connection.execute(delete(suggested_gas_fees).where(old))
    else:
        column = fee_rollups.c
        connection.execute(
            delete(fee_rollups).where(column.level == RollupLevel.MINUTE, column.begins_at < before)
        )


def test_rollups_are_undone_with_the_save_that_fails(store: Store) -> None:
    with undone(store) as connection:
        save_gas(connection, seen(NOON, 7))

    with store.read() as connection:
        assert stored(connection, BASE_FEE, RollupLevel.DAY) == {}


BETTER = (
    (GasSource.DEMO_HISTORY, GasSource.GAS_API, 9),
    (GasSource.NODE_INSTEAD, GasSource.NODE, 9),
    (GasSource.DEMO_HISTORY, GasSource.NODE_INSTEAD, 9),
    (GasSource.GAS_API, GasSource.NODE_INSTEAD, 5),
    (GasSource.GAS_API, GasSource.NODE, 5),
    (GasSource.NODE, GasSource.NODE, 5),
)
"""Who answers 5 first, who 9 afterwards, and which of both stays."""


def test_answer_of_a_better_source_takes_the_place_of_another(store: Store) -> None:
    for *sources, kept in BETTER:
        with undone(store) as connection:
            for source, fee in zip(sources, (5, 9), strict=True):
                told = dict.fromkeys(Operation, source)
                save_gas(connection, seen(NOON, fee, sources=told, busy_threshold=Wei(fee)))

            values = fee_values(connection, BASE_FEE, *EVER)
            thresholds = SeriesKey(A_NETWORK, FeeSeries.BUSY_THRESHOLD)
            marks = stored(connection, thresholds, RollupLevel.DAY)
            [day] = stored(connection, BASE_FEE, RollupLevel.DAY).values()
            assert values == [TimedFee(NOON, Wei(kept))], sources
            assert (day.seen, day.last, day.highest) == (1, kept, kept), sources
            assert [each.last for each in marks.values()] == [kept], sources


def test_observed_fee_takes_the_place_of_an_estimated_one(store: Store) -> None:
    history = GasObservation(A_NETWORK, moment_of(NOON), base_fee_history=(Wei(3), Wei(4), Wei(5)))
    with store.write() as connection:
        save_gas(connection, history, seconds(2))
        save_gas(connection, seen(NOON - 2000, 9))

        values = fee_values(connection, BASE_FEE, *EVER)
        [day] = stored(connection, BASE_FEE, RollupLevel.DAY).values()

    assert values == [
        TimedFee(NOON - 4000, Wei(3), is_estimated=True),
        TimedFee(NOON - 2000, Wei(9)),
        TimedFee(NOON, Wei(5), is_estimated=True),
    ]
    assert (day.seen, day.estimated, day.total) == (3, 2, 17)


def test_value_that_replaces_one_beside_forgotten_ones_is_counted_once(store: Store) -> None:
    made_up = dict.fromkeys(Operation, GasSource.DEMO_HISTORY)
    with store.write() as connection:
        for second, fee in ((0, 3), (2, 5)):
            save_gas(connection, seen(NOON + 1000 * second, fee, sources=made_up))
        forget(connection, "values", NOON + 1000)
        save_gas(connection, seen(NOON + 2000, 9))

        [minute] = stored(connection, BASE_FEE, RollupLevel.MINUTE).values()

    assert (minute.seen, minute.total, minute.last, minute.highest) == (2, 12, 9, 9)


def test_history_adds_nothing_to_a_minute_whose_values_are_forgotten(store: Store) -> None:
    past = [seen(NOON + MINUTE * number, 5) for number in range(3)]
    with store.write() as connection:
        import_gas_history(connection, past)
        before = stored(connection, BASE_FEE, RollupLevel.HOUR)
        forget(connection, "values", NOON + MINUTE)
        import_gas_history(connection, past)
        forget(connection, "values", NOON + HOUR)
        forget(connection, "minutes", NOON + HOUR)
        import_gas_history(connection, past)

        assert stored(connection, BASE_FEE, RollupLevel.HOUR) == before
