"""Restore a backup: it is verified, then takes the place of a store that is set aside.

No change is notified twice, and the former store is never deleted.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import Connection, func, inspect, select, text, update

from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.errors import ForeignStore, StoreError, StoreUnavailable
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.people import end_all_sessions
from dashboard.store.access.tokens import end_all_tokens
from dashboard.store.alerts.held_after_restore import hold_pending
from dashboard.store.engine.connection import Database, store_in_use_error
from dashboard.store.engine.database import address_of, database_at, store_errors
from dashboard.store.engine.disk import force_to_disk, unfinished_beside
from dashboard.store.engine.engine import installation_id, move_mark, open_store
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.backup import open_backup
from dashboard.store.maintenance.copy import copy_store, count_on_after, last_number
from dashboard.store.maintenance.migrate import bring_up, migrate
from dashboard.store.maintenance.rebuild import rebuild, unreadable, wrong_derived
from dashboard.store.maintenance.verify import Finding, broken_pages, count_rows, verify
from dashboard.store.schema import installation, leases, outbox, rejections
from dashboard.store.tracking.saved import end_all_share_links

GAP: Final = 1_000_000_000
"""How far numbers jump: further than any of them came in the time that the backup lacks. A worker
of that time is fenced by its token, and a place in the order of arrivals is never given twice."""

_JUMPING: Final = (rejections, outbox)


class Restored(Struct, frozen=True):
    """What was restored: whose, how many rows of each table, and where the former store is.

    `held` notifications wait until a person decides whether to send them. `rebuilt` names the
    derived data that was wrong in the backup.
    """

    installation_id: UUID
    rows: dict[str, int]
    held: int
    aside: str | None
    rebuilt: Sequence[str]


def restore(
    url: str,
    path: Path,
    by: Actor,
    folder: Path,
    expected: UUID | None = None,
    *,
    comes_back: bool = False,
) -> Restored:
    """Put a backup in the place of the store at `url`, while nobody uses that.

    `folder` is where a copy may be prepared. ForeignStore if the backup belongs to another
    installation than the `expected` one, or if the store was moved away, unless it `comes_back`.
    Notifications that are pending in the backup are held, since they may have been sent; so are
    later ones of changes from before now.
    """
    database = database_at(url)
    database.prepare()
    if not comes_back and database.exists():
        _refuse_moved(database)
    beside = database.path.parent if isinstance(database, SqliteFile) else folder
    with _copied(path, beside) as copy:
        migrate(address_of(copy), by=by)
        held, owner = _prepare_copy(copy, path, by, expected)
        rebuilt = _rebuilt(copy, path, by)
        with open_backup(copy) as connection:
            rows = count_rows(connection)
        force_to_disk(copy)
        aside = replace_store(copy, database, by.at)
    return Restored(owner, rows, held, aside, rebuilt)


def _refuse_moved(database: Database) -> None:
    """Refuse to replace a store that was moved elsewhere; one without a mark may be replaced."""
    try:
        with store_errors(database), database.exclusive() as connection:
            mark = move_mark(connection)
    except StoreUnavailable:
        raise
    except StoreError:
        return
    if mark is not None and not mark.is_copy:
        raise ForeignStore(
            f"{database.name} was moved to {mark.place}: set store.url, or LINEWATCH_STORE_URL, to "
            "that, and restore there; with --force it is restored here, and there it must never "
            "be used again"
        )


@contextmanager
def _copied(path: Path, folder: Path) -> Iterator[Path]:
    """Yield a copy of a backup that may be changed; it is deleted afterwards."""
    with open_backup(path) as connection:
        _refuse(broken_pages(connection, is_quick=True), path)
    try:
        with unfinished_beside(folder / path.name, "restoring") as copy:
            copy.touch(mode=0o600)
            shutil.copyfile(path, copy)
            yield copy
    except OSError as error:
        raise StoreUnavailable(
            f"{folder} does not take a copy of {path} ({error.strerror}): make room there"
        ) from error


def _prepare_copy(copy: Path, path: Path, by: Actor, expected: UUID | None) -> tuple[int, UUID]:
    """Prepare a copy for use; return how many notifications are held, and whose it is."""
    database = database_at(address_of(copy))
    with store_errors(database), database.exclusive() as connection:
        owner = installation_id(connection)
        if expected not in {None, owner}:
            raise ForeignStore(
                f"{path} is a backup of the installation {owner}, and this one is {expected}: "
                "with --force this installation becomes that one"
            )
        held = hold_pending(connection) + _count_pending_expansion(connection)
        jump = installation.c.last_token + GAP
        values = {"restored_at": by.at, "moved_to": None, "last_token": jump}
        connection.execute(update(installation).values(**values))
        connection.execute(update(leases).values(holder=None))
        end_all_sessions(connection, by.at)
        end_all_tokens(connection, by.at)
        end_all_share_links(connection, by.at)
        for table in _JUMPING:
            count_on_after(connection, table, last_number(connection, table) + GAP)
        details: dict[str, Detail] = {"backup": str(path), "held": held}
        note_action(connection, by, Action.RESTORE, "store", details)
    return held, owner


def _count_pending_expansion(connection: Connection) -> int:
    """Count the changes whose notifications will be held once a worker has expanded them."""
    query = select(func.count()).select_from(outbox).where(outbox.c.expanded_at.is_(None))
    return connection.scalar(query) or 0


def _rebuilt(copy: Path, path: Path, by: Actor) -> list[str]:
    """Verify the copy, and rebuild wrong derived data; return its names."""
    with open_backup(copy) as connection:
        _refuse(verify(connection, is_quick=True), path)
        found = list(unreadable(connection)) or list(wrong_derived(connection))
    _refuse((each for each in found if not each.is_rebuildable), path)
    if not found:
        return []
    with open_store(address_of(copy)) as store:
        rebuilt = rebuild(store, by).names
    with database_at(address_of(copy)).exclusive():  # so that nothing stays in a log
        pass
    return rebuilt


def _refuse(findings: Iterable[Finding], path: Path) -> None:
    for finding in findings:
        raise StoreError(
            f"The backup {path} is damaged, and nothing was changed: {finding.what}. Take an older "
            "one; `linewatch verify FILE` names all of it"
        )


_SHARED_LOCKS: Final = (510, 0x40000002)
"""Length and start of the range that SQLite's readers lock
(https://www.sqlite.org/src/file/src/os.h)."""


def replace_store(finished: Path, database: Database, at: datetime) -> str | None:
    """Replace the content of `database` by that of the file; return where the former content is.

    StoreUnavailable, with nothing changed, while anybody uses it. A process that is killed leaves
    the former store or the new one. A file in the same folder as `finished` is moved into place.
    """
    if isinstance(database, SqliteFile):
        return _replace_file(finished, database, at)
    with store_errors(database), database.exclusive() as connection:
        aside = _set_tables_aside(connection, database.name, at)
        bring_up(connection, database.name)
        with open_backup(finished) as source:
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
            f"{database.name} cannot be replaced ({error.strerror}): check its folder"
        ) from error
    return str(aside)


@contextmanager
def _exclusive_access(database: SqliteFile) -> Iterator[None]:
    """Keep everybody out of the file, however damaged it is."""
    with ExitStack() as held:
        try:
            with store_errors(database):
                held.enter_context(database.exclusive())
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
            raise store_in_use_error(database.name) from error
        yield


def _move_log(path: Path, aside: Path) -> None:
    """Move a log that could not be merged along with its file: the new file must not get it."""
    log, index = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    if log.exists():
        log.replace(aside.with_name(f"{aside.name}-wal"))
    index.unlink(missing_ok=True)


def _set_tables_aside(connection: Connection, name: str, at: datetime) -> str | None:
    """Move all tables, with what belongs to them, into a schema of their own.

    StoreError if they are those of another program, which would miss them.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if rejections.name not in tables:
        raise StoreError(
            f"{name} holds the tables of another program, and nothing was changed: give Linewatch "
            "a database of its own"
        )
    aside = f"linewatch_before_{at:%Y%m%dt%H%M%Sz}"
    connection.execute(text(f'CREATE SCHEMA "{aside}"'))
    for table in tables:
        connection.execute(text(f'ALTER TABLE "{table}" SET SCHEMA "{aside}"'))
    for function in own_functions(connection):
        connection.execute(text(f'ALTER FUNCTION {function} SET SCHEMA "{aside}"'))
    return f"the schema {aside} of the same database"


def own_functions(connection: Connection) -> Sequence[str]:
    """Return the functions in PostgreSQL's schema, except those of extensions."""
    functions = text(
        "SELECT p.oid::regprocedure::text FROM pg_proc p "
        "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = current_schema() "
        "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
    )
    return connection.scalars(functions).all()
