"""A channel that takes every letter, and who delivers over it."""

from __future__ import annotations

import pytest

from dashboard.alert.deliver import Deliverer
from dashboard.store.engine.engine import Store
from tests.letters import RecordingChannel
from tests.owing import PATIENT
from tests.timepiece import Timepiece


@pytest.fixture
def channel() -> RecordingChannel:
    """Return a channel that takes every letter."""
    return RecordingChannel()


@pytest.fixture
def deliverer(store: Store, channel: RecordingChannel, timepiece: Timepiece) -> Deliverer:
    """Return who delivers over that channel, and waits for it."""
    return Deliverer(store, channel.sending, timepiece.now, timepiece.elapsed, PATIENT)
