"""The archive under a benchmark: a store with a million rejections, made once a day and copied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sqlalchemy import Connection

from dashboard.store.engine import open_store
from dashboard.store.migrate import migrate
from dashboard.store.schema import REVISION, rejections, signed_transactions
from tests.bench.truth import NETWORK, row_of, stored_hash

FILE: Final = "linewatch.sqlite"

_AT_A_TIME: Final = 20_000


@dataclass(frozen=True, slots=True)
class Archive:
    """A folder with a store of `stored` rejections, whose newest is of `day`."""

    home: Path
    stored: int
    day: datetime

    @property
    def file(self) -> Path:
        """The database."""
        return self.home / FILE


def made_archive(folder: Path, stored: int, day: datetime) -> Archive:
    """Make the archive of that day unless `folder` holds it; older ones are deleted.

    Records are visible for seven days only, so it is made anew each day.
    """
    ours = folder / f"archive-{REVISION}-{stored}-{day:%Y%m%d}"
    archive = Archive(ours, stored, day)
    if not archive.file.exists():
        for older in folder.glob("archive-*"):
            if older.name.rpartition("-")[2] != ours.name.rpartition("-")[2]:
                shutil.rmtree(older)
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as fresh:
            _fill(Path(fresh) / FILE, stored, day)
            shutil.copytree(fresh, ours)
    return archive


@contextmanager
def copied(archive: Archive) -> Iterator[Archive]:
    """Yield a copy that servers may write to; it is deleted afterwards."""
    with TemporaryDirectory(dir=archive.home.parent, prefix="run-") as folder:
        shutil.copy(archive.file, Path(folder) / FILE)
        yield Archive(Path(folder), archive.stored, archive.day)


def _fill(file: Path, stored: int, day: datetime) -> None:
    """Insert in order of the hash, which spares the indexes most of their reads."""
    url = f"sqlite:///{file}"
    migrate(url)
    order = sorted(range(stored), key=stored_hash)
    with open_store(url) as store:
        for start in range(0, stored, _AT_A_TIME):
            some = order[start : start + _AT_A_TIME]
            with store.write() as connection:
                connection.exec_driver_sql("PRAGMA cache_size = -500000")
                _insert(connection, some, day)


def _insert(connection: Connection, numbers: list[int], day: datetime) -> None:
    connection.execute(rejections.insert(), [row_of(number, day) for number in numbers])
    connection.execute(signed_transactions.insert(), [_transaction(number) for number in numbers])


def _transaction(number: int) -> dict[str, Any]:
    """Return the bytes of a transaction; nobody decodes them, so they are made up."""
    return {
        "tx_hash": stored_hash(number),
        "recipient": None,
        "chain_id": NETWORK,
        "raw": sha256(b"%d" % number).digest() * 4,
    }
