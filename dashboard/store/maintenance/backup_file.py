"""A backup: a SQLite file that is read as it lies there, and never written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import URL, Connection, create_engine

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.connection import DATABASE
from dashboard.store.engine.engine import stored_revision
from dashboard.store.engine.errors import store_errors
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.schema.revisions import refuse_unknown_schema


class _BackupFile(SqliteFile):
    """A SQLite file that messages call a backup."""

    noun = "The backup"
    ways_out = "take another one; `linewatch verify FILE` says whether that is whole"


def address_of(path: Path) -> str:
    """Return the address of a store in a file."""
    return URL.create("sqlite", database=str(path)).render_as_string()


@contextmanager
def open_backup(path: Path) -> Iterator[Connection]:
    """Open a backup for reading; StoreError, naming the remedy, for any other file."""
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
        raise StoreError(f"{path} is a folder: name one of the backups in it") from None
    except OSError as error:
        raise StoreUnavailable(
            f"The backup {path} cannot be read ({error.strerror}): check that the path is right "
            "and that this user may read it"
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
