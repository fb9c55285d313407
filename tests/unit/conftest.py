"""A store for each test that wants one, and the time by which its leases run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dashboard.store.engine.engine import Store, open_store
from tests.fake_clock import FakeClock


@pytest.fixture
def fake_clock() -> FakeClock:
    """Return the time of the test."""
    return FakeClock()


@pytest.fixture
def empty_store(store_url: str, fake_clock: FakeClock) -> Iterator[Store]:
    """Yield a new store, opened."""
    with open_store(store_url, fake_clock.boot_clock) as opened:
        yield opened


@pytest.fixture
def store(empty_store: Store) -> Store:
    """Return the same; a folder or a file may put something into its own."""
    return empty_store
