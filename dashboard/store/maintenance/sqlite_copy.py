"""Copy a SQLite file while it is in use, into one file that is complete or does not exist."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dashboard.errors import InputError, StoreError, StoreUnavailable
from dashboard.store.engine.connection import Database
from dashboard.store.engine.database import translated
from dashboard.store.engine.disk import force_to_disk, is_of_database, make_file, unfinished_beside
from dashboard.store.engine.sqlite import SqliteFile, connect_to_read


@contextmanager
def finished_as(path: Path, *, overwrites: bool = False) -> Iterator[Path]:
    """Yield the path of a new, empty file beside `path`; it gets that name if all goes well."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a plain file: name another one")
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


def copy_pages(database: SqliteFile, path: Path) -> None:
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
