"""What every test shares: the loop of asynchronous tests and the patience of generated ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.databases import DATABASES, new_store

# Several workers share two cores, so the time of one example says nothing.
settings.register_profile("linewatch", parent=settings(), deadline=None)
settings.load_profile("linewatch")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run choose the database of all tests that do not ask for both themselves."""
    parser.addoption("--database", choices=DATABASES, default=DATABASES[0])


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """Name the database of a test: the one that the run was given."""
    name: str = request.config.getoption("--database")
    return name


@pytest.fixture
def store_url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a new store."""
    with new_store(database, tmp_path) as url:
        yield url


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the product does."""
    return "asyncio"


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Put `__main__` back: Streamlit's AppTest takes its place, and spawned processes run it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
