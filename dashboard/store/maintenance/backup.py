"""Back up a store while it is in use, into one file that is complete or does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import URL, Connection, create_engine

from dashboard.errors import InputError, StoreError, StoreUnavailable
from dashboard.store.engine.connection import DATABASE, Database
from dashboard.store.engine.database import address_of, database_at, store_errors
from dashboard.store.engine.engine import Store, database_of, stored_revision
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.copy import copy_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.sqlite_copy import copy_pages, finished_as
from dashboard.store.maintenance.verify import verify
from dashboard.store.schema import refuse_unknown_schema

_NAME: Final = "linewatch-{:%Y%m%dT%H%M%SZ}.sqlite"
_NAMED: Final = re.compile(r"linewatch-\d{8}T\d{6}Z\.sqlite")


class Backup(Struct, frozen=True):
    """A backup that was made: where, and how many bytes."""

    path: Path
    size: int


def back_up(store: Store, path: Path, *, overwrites: bool = False) -> Backup:
    """Copy a store as it is at one moment; others go on reading and writing it.

    The file is a SQLite file, whatever the store is in. It is verified and on disk before it gets
    its name. InputError if something has that name, or if it would be inside the store itself;
    StoreError leaves nothing behind.
    """
    with finished_as(path, overwrites=overwrites) as unfinished:
        with store.read() as connection:
            database = database_of(connection)
            _refuse_its_own_place(database, path)
            if not isinstance(database, SqliteFile):
                _copy_rows(connection, unfinished)
        if isinstance(database, SqliteFile):
            copy_pages(database, unfinished)
        _refuse_a_broken_one(unfinished)
    return Backup(path, path.stat().st_size)


def path_in(folder: Path, at: datetime) -> Path:
    """Return the path of a backup made at this time in a folder of backups."""
    return folder / _NAME.format(at)


def delete_oldest(folder: Path, keep: int, made: Path) -> tuple[Path, ...]:
    """Delete all backups of a folder except the last `keep`; return what was deleted.

    `made` is the last one: what is dated later was made before, when the clock was ahead.
    """
    named = [each for each in folder.iterdir() if _NAMED.fullmatch(each.name)]
    named.sort(key=lambda each: (each.name <= made.name, each.name))
    old = tuple(named[:-keep])
    for each in old:
        each.unlink(missing_ok=True)  # another backup may delete it as well
    return old


def _refuse_its_own_place(database: Database, path: Path) -> None:
    if isinstance(database, SqliteFile) and path.exists() and path.samefile(database.path):
        raise InputError(f"{path} is the store itself: name another file for the backup")


def _copy_rows(connection: Connection, path: Path) -> None:
    """Copy table by table, as of the one moment that the reading transaction sees."""
    migrate(address_of(path))
    target = database_at(address_of(path))
    assert isinstance(target, SqliteFile)  # noqa: S101 - its address is that of a file
    with store_errors(target), target.exclusive() as written:
        copy_store(connection, written)


def _refuse_a_broken_one(path: Path) -> None:
    with open_backup(path) as connection:
        for finding in verify(connection, is_quick=True):
            raise StoreError(
                f"The copy is not whole ({finding.what}), so nothing was kept: "
                "look into the store with `linewatch verify`"
            )


class _BackupFile(SqliteFile):
    """A SQLite file that messages call a backup."""

    noun = "The backup"
    ways_out = "take another one; `linewatch verify FILE` says whether that is whole"


@contextmanager
def open_backup(path: Path) -> Iterator[Connection]:
    """Open a backup for reading; StoreError, naming the remedy, for any other file.

    InputError if there is no file.
    """
    _refuse_what_is_no_file(path)
    unchanging = f"file:{path.resolve().as_uri().removeprefix('file://')}"
    options = {"mode": "ro", "immutable": "1", "uri": "true"}
    engine = create_engine(URL.create("sqlite", database=unchanging, query=options))
    database = _BackupFile(URL.create("sqlite", database=str(path)))
    try:
        with store_errors(database), engine.connect() as connection:
            database.check_corruption(connection, timedelta(0))
            _refuse_what_we_do_not_know(connection, path)
            yield connection.execution_options(**{DATABASE: database})
    finally:
        engine.dispose()


def _refuse_what_is_no_file(path: Path) -> None:
    try:
        size = path.stat().st_size
        with path.open("rb"):
            pass
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name one of the backups in it") from None
    except FileNotFoundError:
        raise InputError(f"there is no backup {path}: check that the path is right") from None
    except OSError as error:
        raise StoreUnavailable(
            f"The backup {path} cannot be read ({error.strerror}): check that this user may read it"
        ) from error
    if size == 0:
        raise StoreError(f"{path} is empty, so it is not a backup: take an older one")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} has a log beside it ({log.name}), so it is a store in use or a copy of one, "
            "not a backup: make a backup of it with `linewatch backup`"
        )


def _refuse_what_we_do_not_know(connection: Connection, path: Path) -> None:
    found = stored_revision(connection)
    if found is None:
        raise StoreError(f"{path} is a database of another program, not a backup of Linewatch")
    refuse_unknown_schema(f"The backup {path}", found)
