"""What every test shares: the loop of asynchronous tests and the patience of generated ones."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Several workers share two cores, so the time of one example says nothing.
settings.register_profile("linewatch", parent=settings(), deadline=None)
settings.load_profile("linewatch")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the product does."""
    return "asyncio"
