"""Fixtures: a seeded store, and what people can ask and do there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.application.application import Application
from dashboard.store.engine.engine import Store
from tests.browser.seeded_store import SILENT, SIMULATED, seed
from tests.builders import A_MOMENT


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with a story that ends at `A_MOMENT`."""
    with seed(tmp_path, A_MOMENT) as seeded:
        yield seeded


@pytest.fixture
def queries(store: Store) -> Application:
    """Ask it at `A_MOMENT`, of a network that answers and one that is silent."""
    return Application(store, (SIMULATED, SILENT), None, lambda: A_MOMENT)
