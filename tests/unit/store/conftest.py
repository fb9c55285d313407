"""A store for each test, and a machine whose time stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.store.engine import Store, open_store
from dashboard.store.migrate import migrate
from tests.unit.store.machine import Machine


@pytest.fixture(name="url")
def migrated_url(tmp_path: Path) -> str:
    """Return the address of a new store."""
    url = f"sqlite:///{tmp_path}/linewatch.db"
    migrate(url)
    return url


@pytest.fixture
def machine() -> Machine:
    """Return the machine on whose time leases run out."""
    return Machine()


@pytest.fixture
def store(url: str, machine: Machine) -> Iterator[Store]:
    """Yield the store, opened."""
    with open_store(url, machine.clock) as opened:
        yield opened
