"""A store for each test that wants one, and the time by which its leases run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.store.engine import Store, open_store
from dashboard.store.migrate import migrate
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
