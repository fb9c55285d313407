"""Fixtures: a seeded store, and what people can ask and do there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.people.recipients import AddressOff
from dashboard.store.alerts.recipients import list_addresses_off
from dashboard.store.engine.engine import Store
from dashboard.wiring.page_settings import StoredAnswerFile
from tests.browser.seeded_store import SILENT, SIMULATED, seed
from tests.builders import A_MOMENT


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with a story that ends at `A_MOMENT`."""
    with seed(tmp_path, A_MOMENT) as seeded:
        yield seeded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a file of templates for answers may be."""
    return tmp_path / "own" / "answers.toml"


@pytest.fixture
def queries(store: Store, path: Path) -> Application:
    """Ask it at `A_MOMENT`, of a network that answers and one that is silent."""
    known = PageSettings(answers=StoredAnswerFile(path))
    return Application(store, (SIMULATED, SILENT), None, lambda: A_MOMENT, settings=known)


def addresses_off(queries: Application) -> list[AddressOff]:
    """Return the addresses that are off."""
    with queries.context.store.read() as connection:
        return list_addresses_off(connection)
