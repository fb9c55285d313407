"""Empty stores, and lives of a store that a kill ends between any two statements."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from sqlalchemy import event
from sqlalchemy.engine import make_url

from dashboard.errors import StoreError
from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.lease_clock import BootClock
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import installation
from tests.postgresql import migrated_database

T = TypeVar("T")

_FILES: Final = ("", "-wal")
"""What a SQLite store is made of; the index of its log is made anew."""


class Place(Enum):
    """Where in a transaction the process is killed."""

    BEFORE_STATEMENT = auto()
    BEFORE_COMMIT = auto()
    WITHIN_COMMIT = auto()
    AFTER_COMMIT = auto()


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill -9: `share` of what a commit appends to the log is written, where that matters.

    `statements` are let through first; a transaction that has no more ends before its commit.
    """

    place: Place
    statements: int = 0
    share: float = 0.5


class Killed(Exception):
    """The process is gone."""


class Lives:
    """One store after another, each going on with what the one before left on disk."""

    def __init__(self, url: str, folder: Path, clock: BootClock) -> None:
        """Open a store that was made already; `folder` is where copies may be."""
        self._url = make_url(url)
        self._folder = folder
        self._clock = clock
        self._numbers = count(1)
        self.store = self._open()

    def run(self, act: Callable[[Connection], T], kill: Kill | None) -> T | None:
        """Do something in a transaction; with a `kill` return None and be the next life."""
        if kill is None:
            with self.store.write() as connection:
                return act(connection)
        with suppress(Killed, StoreError), self._until(kill) as connection:
            act(connection)
        self._begin_anew()
        return None

    def end(self) -> None:
        """Be killed between two transactions."""
        self._save(0, 1.0)
        self._begin_anew()

    def close(self) -> None:
        """End in good order."""
        self.store.close()

    @contextmanager
    def _until(self, kill: Kill) -> Iterator[Connection]:
        """Write until the kill comes, at the latest after the commit."""
        before = self._size_of_log()
        with self.store.write() as connection:
            _listen(connection, kill, self._die)
            yield connection
        self._save(before, kill.share if kill.place is Place.WITHIN_COMMIT else 1.0)

    def _die(self, connection: Connection, kill: Kill) -> None:
        if self._is_file:
            if kill.place is Place.WITHIN_COMMIT:
                return
            self._save(0, 1.0)
        else:
            _cut_off(connection, says_commit=kill.place is Place.WITHIN_COMMIT)
        raise Killed

    def _save(self, before: int, share: float) -> None:
        """Keep the files as a kill leaves them, when `share` of the last lines are in the log."""
        if not self._is_file:
            return
        after = self._size_of_log()
        old, new = self._path, self._folder / f"life-{next(self._numbers)}.db"
        for suffix in _FILES:
            if (source := Path(f"{old}{suffix}")).exists():
                shutil.copyfile(source, f"{new}{suffix}")
        if share < 1.0 and after > before:
            with Path(f"{new}-wal").open("r+b") as log:
                log.truncate(before + int(share * (after - before)))
        self._url = self._url.set(database=str(new))

    def _begin_anew(self) -> None:
        self.store.close()
        self.store = self._open()
        with self.store.write() as connection:  # after whoever was cut off has ended
            connection.execute(installation.select())

    def _open(self) -> Store:
        return open_store(self._url.render_as_string(hide_password=False), self._clock)

    @property
    def _is_file(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def _path(self) -> Path:
        return Path(self._url.database or "")

    def _size_of_log(self) -> int:
        log = Path(f"{self._path}-wal")
        return log.stat().st_size if self._is_file and log.exists() else 0


def _listen(connection: Connection, kill: Kill, die: Callable[[Connection, Kill], None]) -> None:
    left = iter(range(kill.statements))

    def before_statement(*_: object) -> None:
        if kill.place is Place.BEFORE_STATEMENT and next(left, None) is None:
            die(connection, kill)

    def before_commit(_: object) -> None:
        if kill.place is not Place.AFTER_COMMIT:
            die(connection, kill)

    event.listen(connection, "before_cursor_execute", before_statement)
    event.listen(connection, "commit", before_commit)


def _cut_off(connection: Connection, *, says_commit: bool) -> None:
    """Break the connection to a PostgreSQL server, a moment after it was told to commit or not."""
    driver: Any = connection.connection.driver_connection
    if says_commit:
        driver.pgconn.send_query(b"COMMIT")
        driver.pgconn.flush()
    with socket.fromfd(driver.pgconn.socket, socket.AF_UNIX, socket.SOCK_STREAM) as broken:
        broken.shutdown(socket.SHUT_RDWR)


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


@dataclass(frozen=True, slots=True)
class Turn:
    """One of every so many in turn; all where `number` is None."""

    number: int | None

    def some_of(self, ways: Sequence[T]) -> Sequence[T]:
        """Return those whose turn it is."""
        return ways if self.number is None else [ways[self.number % len(ways)]]


EVERY: Turn = Turn(None)
