"""The archive under a benchmark: a store with a million rejections, made once a day."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sqlalchemy import Table
from sqlalchemy.dialects import sqlite

from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.rejections.counts import rebuild_counters
from dashboard.store.schema import REVISION, rejections, signed_transactions
from tests.bench.expected_replies import NETWORK, row_of, stored_hash

FILE: Final = "linewatch.sqlite"


@dataclass(frozen=True, slots=True)
class Archive:
    """A store of `stored` rejections or a few more, whose newest is of `day`."""

    file: Path
    stored: int
    day: datetime


def made_archive(folder: Path, stored: int, day: datetime) -> Archive:
    """Make the archive of that day unless `folder` holds it; those of other days are deleted.

    Records are visible for seven days only, so it is made anew each day. Benchmarks add reports
    to it, which changes no answer.
    """
    file = folder / f"archive-{REVISION}-{stored}-{day:%Y%m%d}" / FILE
    if not file.exists():
        for older in folder.glob("archive-*"):
            if not older.name.endswith(f"{day:%Y%m%d}"):
                shutil.rmtree(older)
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as fresh:
            _fill(Path(fresh) / FILE, stored, day)
            file.parent.mkdir(exist_ok=True)
            (Path(fresh) / FILE).replace(file)
    return Archive(file, stored, day)


def _fill(file: Path, stored: int, day: datetime) -> None:
    """Insert in order of the hash, which spares the indexes most of their reads.

    Nobody needs half an archive, so nothing is journalled or awaited.
    """
    migrate(f"sqlite:///{file}")
    order = sorted(range(stored), key=stored_hash)
    with closing(sqlite3.connect(file)) as connection:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -500000"):
            connection.execute(f"PRAGMA {pragma}")
        insert_rows(connection, rejections, (row_of(number, day) for number in order))
        insert_rows(connection, signed_transactions, map(_transaction, order))
        connection.commit()
    with open_store(f"sqlite:///{file}") as store, store.write() as writing:
        rebuild_counters(writing)


def insert_rows(
    connection: sqlite3.Connection, table: Table, rows: Iterable[dict[str, Any]]
) -> None:
    """Insert past SQLAlchemy, many times faster, in the forms of our own column types."""
    first, rest = next(iterator := iter(rows)), iterator
    dialect = sqlite.dialect()
    processors = [
        table.c[name].type.dialect_impl(dialect).bind_processor(dialect) or _as_it_is
        for name in first
    ]
    places = ", ".join("?" * len(first))
    statement = f"INSERT INTO {table.name} ({', '.join(first)}) VALUES ({places})"  # noqa: S608 - names of ours
    connection.executemany(
        statement,
        (
            [process(value) for process, value in zip(processors, row.values(), strict=True)]
            for row in chain([first], rest)
        ),
    )


def _as_it_is(value: object) -> object:
    return value


def _transaction(number: int) -> dict[str, Any]:
    """Return the bytes of a transaction; nobody decodes them, so they are made up."""
    return {
        "tx_hash": stored_hash(number),
        "recipient": None,
        "chain_id": NETWORK,
        "raw": sha256(b"%d" % number).digest() * 4,
    }
