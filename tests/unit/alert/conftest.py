"""A channel that takes every message, and who delivers over it."""

from __future__ import annotations

import pytest

from dashboard.alert.deliver import Deliverer
from dashboard.store.engine.engine import Store
from tests.alert_watch import Watch
from tests.delivery_checks import PATIENT
from tests.fake_clock import FakeClock
from tests.recording_channel import RecordingChannel


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    """Return a worker that notifies, and a clock that moves by hand."""
    return Watch(store, fake_clock)


@pytest.fixture
def channel() -> RecordingChannel:
    """Return a channel that takes every message."""
    return RecordingChannel()


@pytest.fixture
def deliverer(store: Store, channel: RecordingChannel, fake_clock: FakeClock) -> Deliverer:
    """Return who delivers over that channel, and waits for it."""
    return Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, PATIENT)
