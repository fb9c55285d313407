"""What every test shares: the loop of asynchronous tests and the patience of generated ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Several workers share two cores, so the time of one example says nothing.
settings.register_profile("linewatch", parent=settings(), deadline=None)
settings.load_profile("linewatch")


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
