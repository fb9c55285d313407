"""A store for each test that wants one, and the time by which its leases run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dashboard.store.engine.engine import Store, open_store
from tests.timepiece import Timepiece


@pytest.fixture
def timepiece() -> Timepiece:
    """Return the time of the test."""
    return Timepiece()


@pytest.fixture
def store(store_url: str, timepiece: Timepiece) -> Iterator[Store]:
    """Yield a new store, opened."""
    with open_store(store_url, timepiece.boot_clock) as opened:
        yield opened
