"""Put a finished store into the place of another, which is put aside and never deleted."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.connection import in_use
from dashboard.store.engine.database import Database
from dashboard.store.engine.disk import force_to_disk
from dashboard.store.engine.errors import store_errors
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.backup_file import reading
from dashboard.store.maintenance.copy import copy_store
from dashboard.store.maintenance.migrate import bring_up

_SHARED_LOCKS: Final = (510, 0x40000002)
"""Length and start of what SQLite's readers lock (https://www.sqlite.org/src/file/src/os.h)."""


def put_in_place(finished: Path, database: Database, at: datetime) -> str | None:
    """Let `database` hold what the file does; return where its former content is, if it had any.

    StoreUnavailable, and nothing is changed, while anybody uses it. Whoever dies on the way leaves
    the former store or the new one. A file in the same folder as `finished` takes it over.
    """
    if isinstance(database, SqliteFile):
        return _replace_file(finished, database, at)
    with store_errors(database), database.alone() as connection:
        aside = _set_tables_aside(connection, at)
        bring_up(connection, database.name)
        with reading(finished) as source:
            copy_store(source, connection)
    return aside


def _replace_file(finished: Path, database: SqliteFile, at: datetime) -> str | None:
    path = database.path
    if not database.exists():
        finished.replace(path)
        force_to_disk(path.parent)
        return None
    aside = path.with_name(f"{path.name}.before-{at:%Y%m%dT%H%M%SZ}")
    try:
        with _exclusive_access(database):
            # A second name, so that no moment is without a store.
            aside.hardlink_to(path)
            _move_log(path, aside)
            finished.replace(path)
            force_to_disk(path.parent)
    except OSError as error:
        raise StoreUnavailable(
            f"{database.name} cannot be replaced ({error.strerror}): look after its folder"
        ) from error
    return str(aside)


@contextmanager
def _exclusive_access(database: SqliteFile) -> Iterator[None]:
    """Keep everybody out of the file, be it as damaged as it may."""
    with ExitStack() as held:
        try:
            with store_errors(database):
                held.enter_context(database.alone())
        except StoreUnavailable:
            raise
        except StoreError:
            held.enter_context(_file_lock(database))
        yield


@contextmanager
def _file_lock(database: SqliteFile) -> Iterator[None]:
    """Take SQLite's lock ourselves, since SQLite does not touch what it cannot read."""
    with database.path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *_SHARED_LOCKS)
        except OSError as error:
            raise in_use(database.name) from error
        yield


def _move_log(path: Path, aside: Path) -> None:
    """Let a log that could not be moved into its file follow it; to the new one it is foreign."""
    log, index = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    if log.exists():
        log.replace(aside.with_name(f"{aside.name}-wal"))
    index.unlink(missing_ok=True)


def _set_tables_aside(connection: Connection, at: datetime) -> str | None:
    """Move all tables, with what belongs to them, into a schema of their own."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    aside = f"linewatch_before_{at:%Y%m%dt%H%M%Sz}"
    connection.execute(text(f'CREATE SCHEMA "{aside}"'))
    for table in tables:
        connection.execute(text(f'ALTER TABLE "{table}" SET SCHEMA "{aside}"'))
    functions = text(
        "SELECT p.oid::regprocedure::text FROM pg_proc p "
        "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = current_schema() "
        "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
    )
    for function in connection.scalars(functions).all():
        connection.execute(text(f'ALTER FUNCTION {function} SET SCHEMA "{aside}"'))
    return f"the schema {aside} of the same database"
