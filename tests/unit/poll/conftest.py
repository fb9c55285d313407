"""An upstream and a poll for each test of polling."""

from __future__ import annotations

import pytest

from dashboard.poll.exclusion import ExclusionPoll
from dashboard.store.engine import Store
from tests.askers import ScriptedExclusion
from tests.timepiece import Timepiece
from tests.unit.poll.exclusions import NewPoll, a_poll


@pytest.fixture
def upstream() -> ScriptedExclusion:
    """Return an upstream that knows no rejection."""
    return ScriptedExclusion()


@pytest.fixture
def new_poll(store: Store, upstream: ScriptedExclusion, timepiece: Timepiece) -> NewPoll:
    """Return what starts a worker's poll, the first time and again."""
    return lambda: a_poll(store, upstream, timepiece)


@pytest.fixture
def poll(new_poll: NewPoll) -> ExclusionPoll:
    """Return a poll that has just started."""
    return new_poll()
