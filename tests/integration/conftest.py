"""What many integration tests begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.store.engine.engine import Store, open_store
from tests.databases import new_sqlite_store
from tests.installation import Installation, new_installation
from tests.integration.seeded_installation import tell_story


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a new store in a file."""
    with open_store(new_sqlite_store(tmp_path / "linewatch.db")) as opened:
        yield opened


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Plan an installation whose store is filled."""
    planned = new_installation(tmp_path / "home")
    tell_story(planned)
    return planned
