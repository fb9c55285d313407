"""Where stores of the model live: on each database, quickly made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import migrate
from tests.postgresql import migrated_database


class StoreMaker:
    """Makes one store after another; the one before is gone then."""

    def __init__(self, folder: Path, make: Callable[[Path], AbstractContextManager[str]]) -> None:
        """Put files into `folder`."""
        self._folder = folder
        self._make = make
        self._numbers = count(1)
        self._current = ExitStack()

    def fresh(self) -> tuple[str, Path]:
        """Return the address of a new store, and a folder for what is copied of it."""
        self.close()
        place = self._folder / f"store-{next(self._numbers)}"
        place.mkdir()
        self._current.callback(shutil.rmtree, place)
        return self._current.enter_context(self._make(place)), place

    def close(self) -> None:
        """Leave no store."""
        self._current.close()


LINK_KEY: Final = b"k" * 32
"""Under which the Message-IDs of every store are made, so that a model can say which they are."""

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of our own in it, made by tempfile
"""No disk is waited for where the system has this: what a kill leaves is what was written."""


@contextmanager
def store_maker_on(database: str) -> Iterator[StoreMaker]:
    """Yield a ground on SQLite or PostgreSQL."""
    where = _IN_MEMORY if _IN_MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="linewatch-model-", dir=where) as folder:
        yield from _ground(database, Path(folder))


def _make_key(url: str) -> None:
    with open_store(url) as store, store.write() as connection:
        make_link_key(connection, LINK_KEY)


def _ground(database: str, folder: Path) -> Iterator[StoreMaker]:
    template = folder / "template.db"
    if database == "sqlite":
        migrate(f"sqlite:///{template}")
        _make_key(f"sqlite:///{template}")

    @contextmanager
    def make(place: Path) -> Iterator[str]:
        if database == "sqlite":
            shutil.copyfile(template, place / "linewatch.db")
            yield f"sqlite:///{place}/linewatch.db"
        else:
            with migrated_database() as url:
                _make_key(url)
                yield url

    ground = StoreMaker(folder, make)
    try:
        yield ground
    finally:
        ground.close()
