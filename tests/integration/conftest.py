"""What many integration tests begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.store.engine.engine import Store, open_store
from tests.databases import new_sqlite_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a new store in a file."""
    with open_store(new_sqlite_store(tmp_path / "linewatch.db")) as opened:
        yield opened
