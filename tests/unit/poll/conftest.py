"""An upstream and a poll for each test of polling."""

from __future__ import annotations

import pytest

from dashboard.domain.quantity import Wei
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.store.engine.engine import Store
from tests.builders import GWEI, suggested_gas_fees
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedExclusion, ScriptedGas
from tests.unit.poll.condition_scene import PERIOD, THRESHOLD, Scene
from tests.unit.poll.exclusion_poll_scene import NewPoll, a_poll
from tests.unit.poll.rule_watch import Watch


@pytest.fixture
def upstream() -> ScriptedExclusion:
    """Return an upstream that knows no rejection."""
    return ScriptedExclusion()


@pytest.fixture
def new_poll(store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock) -> NewPoll:
    """Return what starts a worker's poll, the first time and again."""
    return lambda: a_poll(store, upstream, fake_clock)


@pytest.fixture
def poll(new_poll: NewPoll) -> ExclusionPoll:
    """Return a poll that has just started."""
    return new_poll()


@pytest.fixture
async def scene(store: Store, fake_clock: FakeClock) -> Scene:
    """Return a network near 10 gwei that is busy above 20, and a worker that has just started."""
    made = Scene(store, fake_clock, ScriptedGas())
    made.upstream.threshold = Wei(THRESHOLD * GWEI)
    await made.go_on(PERIOD)
    made.upstream.fees = suggested_gas_fees(estimated_base_fee=Wei(11 * GWEI))
    return made


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    """Return a worker that has just begun to measure what rules ask for."""
    return Watch(store, fake_clock)
