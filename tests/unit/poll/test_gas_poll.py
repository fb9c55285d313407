"""The gas poll of one network, from a scripted upstream into a real store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.observation import FailureKind, Operation
from dashboard.errors import UpstreamThrottled, UpstreamUnavailable
from dashboard.poll.gas import GasArchive, GasPoll
from dashboard.poll.lease import LeaseLost, NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.store.fees.latest import LatestGas
from tests.builders import A_NETWORK, seconds, suggested_gas_fees
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedGas
from tests.unit.poll.condition_scene import LEASE, a_term, conditions_of, latest, tick_for

PERIODS = GasPeriods(seconds(4), timedelta(minutes=2), seconds(20))


@pytest.fixture
def upstream() -> ScriptedGas:
    return ScriptedGas()


@pytest.fixture
def poll(store: Store, upstream: ScriptedGas, fake_clock: FakeClock) -> GasPoll:
    own = NetworkStore(store, A_NETWORK, a_term(store, fake_clock))
    archive = GasArchive(own, conditions_of(fake_clock), block_time=seconds(2))
    return GasPoll(upstream, archive, PERIODS, fake_clock.clocks)


async def test_first_tick_keeps_all_four_answers(
    store: Store, poll: GasPoll, fake_clock: FakeClock
) -> None:
    await poll.tick()

    found = latest(store)
    assert found.suggested_gas_fees is not None
    assert found.suggested_gas_fees.value == suggested_gas_fees()
    assert found.suggested_gas_fees.asked_at == fake_clock.now()
    assert found.base_fee_history is not None
    assert found.base_fee_percentile is not None
    assert found.busy_threshold is not None
    assert found.failures == ()


async def test_each_operation_keeps_its_own_period(
    poll: GasPoll, upstream: ScriptedGas, fake_clock: FakeClock
) -> None:
    await tick_for(poll, fake_clock, timedelta(minutes=2))

    assert upstream.asked == {
        Operation.SUGGESTED_GAS_FEES: 30,
        Operation.BUSY_THRESHOLD: 6,
        Operation.BASE_FEE_PERCENTILE: 6,
        Operation.BASE_FEE_HISTORY: 1,
    }


async def test_tick_that_comes_a_little_early_skips_no_question(
    poll: GasPoll, upstream: ScriptedGas, fake_clock: FakeClock
) -> None:
    for moment in (3.99, 4.02, 3.98, 4.01, 3.99):
        fake_clock.wait(timedelta(seconds=moment))
        await poll.tick()

    assert upstream.asked[Operation.SUGGESTED_GAS_FEES] == 5


async def test_one_failing_operation_does_not_cost_the_others(
    store: Store, poll: GasPoll, upstream: ScriptedGas
) -> None:
    upstream.errors[Operation.BUSY_THRESHOLD] = UpstreamUnavailable("no answer")

    await poll.tick()

    found = latest(store)
    assert found.suggested_gas_fees is not None
    assert found.busy_threshold is None
    [standing] = found.failures
    assert standing.operation is Operation.BUSY_THRESHOLD
    assert standing.failure.kind is FailureKind.UNAVAILABLE


async def test_failed_operation_is_asked_again_before_its_period_is_over(
    store: Store, poll: GasPoll, upstream: ScriptedGas, fake_clock: FakeClock
) -> None:
    upstream.errors[Operation.BASE_FEE_HISTORY] = UpstreamUnavailable("no answer")
    await poll.tick()
    upstream.errors.clear()

    await tick_for(poll, fake_clock, timedelta(minutes=1))

    assert latest(store).base_fee_history is not None
    assert latest(store).failures == ()


async def test_upstream_that_wants_rest_is_asked_none_of_the_questions(
    poll: GasPoll, upstream: ScriptedGas, fake_clock: FakeClock
) -> None:
    await poll.tick()
    error = UpstreamThrottled("too fast", timedelta(hours=3))
    upstream.errors[Operation.SUGGESTED_GAS_FEES] = error
    await tick_for(poll, fake_clock, timedelta(seconds=8))
    before = upstream.asked.copy()

    await tick_for(poll, fake_clock, timedelta(hours=2))

    assert upstream.asked == before


async def test_clock_set_back_does_not_stop_the_poll(
    poll: GasPoll, upstream: ScriptedGas, fake_clock: FakeClock
) -> None:
    await poll.tick()
    fake_clock.set_clock(timedelta(days=-7))

    await tick_for(poll, fake_clock, seconds(8))

    assert upstream.asked[Operation.SUGGESTED_GAS_FEES] == 3


async def test_worker_that_lost_its_lease_keeps_no_observation(
    store: Store, poll: GasPoll, fake_clock: FakeClock
) -> None:
    fake_clock.wait(LEASE)

    with pytest.raises(LeaseLost):
        await poll.tick()

    assert latest(store) == LatestGas()


async def test_tick_with_nothing_due_writes_nothing(
    store: Store, poll: GasPoll, fake_clock: FakeClock
) -> None:
    await poll.tick()
    before = latest(store)
    fake_clock.wait(seconds(1))

    await poll.tick()

    assert latest(store) == before
