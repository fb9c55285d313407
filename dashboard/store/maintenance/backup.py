"""Back up a store while it is in use, into one file that is complete or does not exist."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import URL, Connection, create_engine

from dashboard.errors import InputError, StoreError, StoreUnavailable
from dashboard.store.engine.connection import DATABASE, Database
from dashboard.store.engine.database import address_of, database_at, store_errors, translated
from dashboard.store.engine.disk import force_to_disk, is_of_database, make_file, unfinished_beside
from dashboard.store.engine.engine import Store, database_of, stored_revision
from dashboard.store.engine.sqlite import SqliteFile, connect_to_read
from dashboard.store.maintenance.copy import copy_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.verify import verify
from dashboard.store.schema import REVISION, REVISIONS, refuse_unknown_schema

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
            _copy_pages(database, unfinished)
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


@contextmanager
def finished_as(path: Path, *, overwrites: bool = False) -> Iterator[Path]:
    """Yield the path of a new, empty file beside `path`; it gets that name if all goes well."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no plain file: name another one")
    if is_of_database(path):
        raise InputError(f"{path} belongs to the database beside it: name another file")
    if not overwrites and path.exists():
        raise InputError(f"{path} exists already: name another file, or overwrite with --force")
    try:
        with unfinished_beside(path) as unfinished:
            make_file(unfinished)
            yield unfinished
            force_to_disk(unfinished)
            unfinished.replace(path)
            force_to_disk(path.parent)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror}): check that its folder exists, has room "
            "and belongs to this user"
        ) from error


def copy_before_upgrade(url: str) -> Path | None:
    """Copy a SQLite file of an older schema beside it; None if there is nothing to copy."""
    database = database_at(url)
    if not isinstance(database, SqliteFile) or not database.exists():
        return None
    with store_errors(database), database.reading_engine().connect() as connection:
        found = stored_revision(connection)
    if found == REVISION or found not in REVISIONS:
        return None
    copy = database.path.with_name(f"{database.path.name}.schema-{found}")
    with finished_as(copy, overwrites=True) as unfinished:
        _copy_pages(database, unfinished)
    return copy


def _copy_pages(database: SqliteFile, path: Path) -> None:
    """Let SQLite write every row into the file, which proves that each can be read.

    It reads one moment for as long as that takes, waits for no writer, and keeps none waiting.
    """
    try:
        own, _ = connect_to_read(lambda: sqlite3.connect(database.path), database.path.parent)
        with closing(own):
            own.execute("VACUUM INTO ?", [str(path)])
    except sqlite3.Error as error:
        raise _named(error, database, path) from error


def _named(error: sqlite3.Error, database: Database, path: Path) -> StoreError:
    """Report damage as that of the store, every other error as that of the copy."""
    found = translated(database, error)
    if isinstance(found, StoreUnavailable):
        return StoreUnavailable(
            f"The backup in {path.parent} cannot be written ({error}): check that its disk has room"
        )
    return found


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
        raise StoreError(f"{path} is empty and so is no backup: take an older one")
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
