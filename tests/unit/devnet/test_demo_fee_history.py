"""The demo history of fees: reproducible, labelled, days and observations without overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import numpy as np
import pytest

from dashboard.devnet.chain import Int64Array
from dashboard.devnet.demo import DemoFeeHistory, FeesOfDays
from dashboard.devnet.genesis import CALM, DEVNET, DEVNET_ID, FLAT, SIMULATED, SimulatedNetwork
from dashboard.domain.fees.busy_spells import HoldPeriods, JudgedValue, spells_of
from dashboard.domain.fees.gas import FeeSeries, GasSource
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, seconds

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BLOCKS_OF_A_DAY = 43_200
MARKS_OF_A_DAY = 144
NETWORKS = pytest.mark.parametrize("network", SIMULATED, ids=lambda each: each.title)


def days_of(
    network: SimulatedNetwork, length: timedelta, series: FeeSeries, seed: int = 7
) -> Iterator[FeesOfDays]:
    """Return what whole days hold of one series."""
    history = DemoFeeHistory(seed, A_MOMENT, length, network)
    return (each for each in history.days() if each.series is series)


@NETWORKS
def test_history_tells_the_same_each_time(network: SimulatedNetwork) -> None:
    one, other = (DemoFeeHistory(7, A_MOMENT, 3 * DAY, network) for _ in range(2))

    for here, there in zip(one.days(), other.days(), strict=True):
        assert here.series is there.series
        assert np.array_equal([here.at, here.fees], [there.at, there.fees])
    seen, seen_again = (list(islice(each.observations(), 200)) for each in (one, other))
    assert seen == seen_again


def test_history_of_another_seed_or_network_is_another_one() -> None:
    base_fee = FeeSeries.ESTIMATED_BASE_FEE
    (one,) = days_of(DEVNET, 3 * DAY, base_fee)
    (other,) = days_of(DEVNET, 3 * DAY, base_fee, seed=8)
    (calm,) = days_of(CALM, 3 * DAY, base_fee)

    assert not np.array_equal(one.fees, other.fees)
    assert calm.fees.std() / calm.fees.mean() < one.fees.std() / one.fees.mean()


def test_whole_days_have_a_value_for_each_block() -> None:
    blocks = list(days_of(DEVNET, 12 * DAY, FeeSeries.ESTIMATED_BASE_FEE))
    marks = list(days_of(DEVNET, 12 * DAY, FeeSeries.BUSY_THRESHOLD))

    at = np.concatenate([each.at for each in blocks])
    assert (np.diff(at) == 2000).all()
    assert len(at) == 10 * BLOCKS_OF_A_DAY
    assert sum(len(each.at) for each in marks) == 10 * MARKS_OF_A_DAY


def test_single_looks_begin_where_whole_days_end_and_become_close() -> None:
    history = DemoFeeHistory(7, A_MOMENT, 3 * DAY)

    *_, last_days = history.days()
    moments = [each.asked_at for each in history.observations()]
    steps = Counter(after - before for before, after in pairwise(moments))
    assert moments[0] == datetime(2026, 11, 19, tzinfo=UTC)
    assert last_days.at[-1] < moments[0].timestamp() * 1000
    assert A_MOMENT - moments[-1] == timedelta(seconds=2)
    assert steps == {timedelta(seconds=30): 4170, timedelta(seconds=2): 2249}


def test_history_of_less_than_a_day_consists_of_single_looks() -> None:
    history = DemoFeeHistory(7, A_MOMENT, 6 * HOUR)

    assert list(history.days()) == []
    assert next(history.observations()).asked_at == A_MOMENT - 6 * HOUR


@NETWORKS
def test_history_is_labelled_as_made_up(network: SimulatedNetwork) -> None:
    seen = list(DemoFeeHistory(7, A_MOMENT, HOUR, network).observations())

    assert {each.network_id for each in seen} == {network.network_id}
    sources = {each.source_of(operation) for each in seen for operation in Operation}
    assert sources == {GasSource.DEMO_HISTORY}


def test_levels_are_the_percentiles_of_the_marks_before() -> None:
    (base_fees,) = days_of(DEVNET, 3 * DAY, FeeSeries.ESTIMATED_BASE_FEE)
    (usual,) = days_of(DEVNET, 3 * DAY, FeeSeries.BASE_FEE_PERCENTILE)
    (busy,) = days_of(DEVNET, 3 * DAY, FeeSeries.BUSY_THRESHOLD)

    window = FeeWindow(67)
    fee_at = dict(zip(base_fees.at.tolist(), base_fees.fees.tolist(), strict=True))
    for at in usual.at.tolist():
        window.append(Wei(fee_at[at]))
    assert usual.fees[-1] == window.percentile(50)
    assert busy.fees[-1] == window.percentile(90)


def test_spells_are_those_of_its_fees_beside_the_threshold_before_each() -> None:
    holds, silence = HoldPeriods(seconds(60), seconds(300)), seconds(120)
    at, fees = columns_of(CALM, FeeSeries.ESTIMATED_BASE_FEE)
    asked_at, thresholds = columns_of(CALM, FeeSeries.BUSY_THRESHOLD)
    is_beyond = fees > thresholds[np.searchsorted(asked_at, at, side="right") - 1]
    values = (
        JudgedValue(datetime.fromtimestamp(int(each) / 1000, UTC), bool(beyond))
        for each, beyond in zip(at, is_beyond, strict=True)
        if each % 12_000 == 0
    )

    found = DemoFeeHistory(7, A_MOMENT, 12 * DAY, CALM).spells(holds)

    of_days = spells_of(values, holds, silence)
    assert len(of_days) > 3
    assert found[: len(of_days) - 1] == of_days[:-1]
    assert all(each.ends_at is not None for each in found)


def columns_of(network: SimulatedNetwork, series: FeeSeries) -> tuple[Int64Array, Int64Array]:
    """Return all times and fees of whole days of one series."""
    parts = [(each.at, each.fees) for each in days_of(network, 12 * DAY, series)]
    at, fees = (np.concatenate(column) for column in zip(*parts, strict=True))
    return at, fees


def test_flat_chain_and_no_time_at_all_have_no_spells() -> None:
    holds = HoldPeriods(seconds(60), seconds(300))

    assert DemoFeeHistory(7, A_MOMENT, 3 * DAY, FLAT).spells(holds) == []
    assert DemoFeeHistory(7, A_MOMENT, 0 * DAY, CALM).spells(holds) == []


def test_flat_chain_has_one_base_fee_and_priority_fees_that_move() -> None:
    (base_fees,) = days_of(FLAT, 3 * DAY, FeeSeries.ESTIMATED_BASE_FEE)
    (priority_fees,) = days_of(FLAT, 3 * DAY, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)

    assert set(base_fees.fees.tolist()) == {7}
    assert priority_fees.fees.std() > 0


def test_calm_chain_was_not_watched_now_and_then() -> None:
    at = np.concatenate([each.at for each in days_of(CALM, 60 * DAY, FeeSeries.ESTIMATED_BASE_FEE)])

    gaps = np.diff(at)
    assert gaps.max() >= HOUR / timedelta(milliseconds=1)
    assert (gaps == 2000).mean() > 0.99


def test_only_the_devnet_is_the_chain_that_runs() -> None:
    assert [each.network_id == DEVNET_ID for each in SIMULATED] == [True, False, False]
