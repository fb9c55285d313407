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
from tests.postgresql import filled_database, migrated_database

DATABASES: Final = ("sqlite", "postgresql")


@contextmanager
def new_store(database: str, folder: Path) -> Iterator[str]:
    """Yield the address of a new store; `folder` is where a file may be."""
    yield from _NEW[database](folder)


@contextmanager
def copied_store(database: str, folder: Path, fill: Callable[[str], None]) -> Iterator[str]:
    """Yield the address of a copy of a store that `fill` filled once in this process."""
    if database == "postgresql":
        with filled_database(fill) as url:
            yield url
    else:
        yield put_file(folder / "linewatch.db", _filled_file(fill))


def set_schema(url: str, revision: str) -> None:
    """Pretend that another version of Linewatch made the store."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    engine.dispose()


def new_sqlite_store(file: Path) -> str:
    """Make a new store in a file; return its address."""
    return put_file(file, _migrated_file())


def put_file(file: Path, content: bytes) -> str:
    """Put a store where nobody else may read it; return its address."""
    file.touch(mode=0o600)
    file.write_bytes(content)
    return f"sqlite:///{file}"


def _sqlite(folder: Path) -> Iterator[str]:
    yield new_sqlite_store(folder / "linewatch.db")


@cache
def _migrated_file() -> bytes:
    """Migrate once for all tests of a process, as databases of PostgreSQL have one template."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "linewatch.db"
        migrate(f"sqlite:///{file}")
        return file.read_bytes()


@cache
def _filled_file(fill: Callable[[str], None]) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "linewatch.db"
        fill(new_sqlite_store(file))
        return file.read_bytes()


def _postgresql(_folder: Path) -> Iterator[str]:
    with migrated_database() as url:
        yield url


_NEW: Final[dict[str, Callable[[Path], Iterator[str]]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
