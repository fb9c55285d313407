"""A store for each test, and a machine whose time stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.backup import back_up
from tests.databases import DATABASES, new_store
from tests.postgresql import empty_database
from tests.unit.store.fake_machine import Machine
from tests.unit.store.filled_store import live
from tests.unit.store.races import Race, race_of_threads, races_of_processes


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """Name the database of a test; each runs once on each."""
    name: str = request.param
    return name


@pytest.fixture(name="url")
def migrated_url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a new store."""
    with new_store(database, tmp_path) as url:
        yield url


@pytest.fixture
def empty_url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a database that has no tables yet."""
    if database == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.db"
        return
    with empty_database() as url:
        yield url


@pytest.fixture
def machine() -> Machine:
    """Return the machine on whose time leases run out."""
    return Machine()


@pytest.fixture
def store(url: str, machine: Machine) -> Iterator[Store]:
    with open_store(url, machine.clock) as opened:
        yield opened


@pytest.fixture
def backup(url: str, tmp_path: Path) -> Path:
    """Return a backup of a store in which something of every kind happened."""
    live(url)
    with open_store(url) as store:
        return back_up(store, tmp_path / "backup.sqlite").path


@pytest.fixture(scope="module")
def racing_processes() -> Iterator[Race]:
    """Yield races of processes, which start once."""
    with races_of_processes() as race:
        yield race


@pytest.fixture(params=["threads", "processes"])
def race(request: pytest.FixtureRequest) -> Race:
    """Return a race: of threads that share one open store, or of processes."""
    if request.param == "threads":
        return race_of_threads
    found: Race = request.getfixturevalue("racing_processes")
    return found
