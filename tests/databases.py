"""A new store in either database, for tests that must hold on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sqlalchemy import create_engine, text

from dashboard.store.maintenance.migrate import migrate
from tests.postgresql import migrated_database

DATABASES: Final = ("sqlite", "postgresql")


@contextmanager
def new_store(database: str, folder: Path) -> Iterator[str]:
    """Yield the address of a new store; `folder` is where a file may be."""
    yield from _NEW[database](folder)


def set_schema(url: str, revision: str) -> None:
    """Pretend that another version of Linewatch made the store."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    engine.dispose()


def _sqlite(folder: Path) -> Iterator[str]:
    file = folder / "linewatch.db"
    file.touch(mode=0o600)
    file.write_bytes(_migrated_file())
    yield f"sqlite:///{file}"


@cache
def _migrated_file() -> bytes:
    """Migrate once for all tests of a process, as databases of PostgreSQL have one template."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "linewatch.db"
        migrate(f"sqlite:///{file}")
        return file.read_bytes()


def _postgresql(_folder: Path) -> Iterator[str]:
    with migrated_database() as url:
        yield url


_NEW: Final[dict[str, Callable[[Path], Iterator[str]]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
