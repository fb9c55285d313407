"""A store for each test of delivery, and the time by which its leases run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.alert.deliver import Deliverer
from dashboard.store.engine import Store, open_store
from dashboard.store.migrate import migrate
from tests.letters import RecordingChannel, a_letter_of
from tests.owing import PATIENT
from tests.timepiece import Timepiece


@pytest.fixture
def timepiece() -> Timepiece:
    """Return the time of the test."""
    return Timepiece()


@pytest.fixture
def store(tmp_path: Path, timepiece: Timepiece) -> Iterator[Store]:
    """Yield a new store, opened."""
    url = f"sqlite:///{tmp_path}/linewatch.db"
    migrate(url)
    with open_store(url, timepiece.boot_clock) as opened:
        yield opened


@pytest.fixture
def channel() -> RecordingChannel:
    """Return a channel that takes every letter."""
    return RecordingChannel()


@pytest.fixture
def deliverer(store: Store, channel: RecordingChannel, timepiece: Timepiece) -> Deliverer:
    """Return who delivers over that channel, and waits for it."""
    return Deliverer(store, {"mail": channel}, a_letter_of, timepiece.now, PATIENT)
