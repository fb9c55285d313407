"""Move a store to another database: all of it, compared, and the source says where it went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, inspect

from dashboard.domain.people.access import Action, Actor
from dashboard.errors import ForeignStore, InputError, LinewatchError, SchemaMismatch, StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.database import Database, database_at, store_errors
from dashboard.store.engine.engine import refuse_foreign, stored_revision
from dashboard.store.engine.move_progress import (
    MoveProgress,
    MoveState,
    move_progress,
    record_move_progress,
    refuse_moved_store,
)
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.backup import address_of, finished_as, open_backup
from dashboard.store.maintenance.copy import copy_store
from dashboard.store.maintenance.migrate import bring_up
from dashboard.store.maintenance.verify import count_rows
from dashboard.store.schema.revisions import REVISION, refuse_unknown_schema

_NAMED: Final = "The store "
_EMPTY: Final = "name an empty database, or a file that does not exist yet"


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a store is now, and how many rows of each table were copied."""

    name: str
    rows: dict[str, int]


def move(source_url: str, target_url: str, by: Actor, expected: UUID | None = None) -> Moved:
    """Copy everything into an empty database while nobody uses the store, then mark the store.

    At most one of both takes workers, wherever this is killed; the same again completes it.
    InputError where the target holds something; ForeignStore where the store is of an installation
    other than the `expected` one.
    """
    source, target = database_at(source_url), database_at(target_url)
    target.prepare()
    mark = _begin(source, target, expected)
    if mark.state is MoveState.SOURCE:
        try:
            _copy_and_mark(source, target, mark, by)
        except BaseException:
            with suppress(LinewatchError):
                _undo_mark(source, mark)
            raise
    return Moved(target.name, _finish(source, target))


def cancel_move(source_url: str, by: Actor, expected: UUID | None = None) -> str:
    """Stay with a store whose move was not finished; return where it was to go."""
    source = database_at(source_url)
    with _exclusive_store(source) as connection:
        if expected is not None:
            refuse_foreign(connection, source.name, expected)
        mark = move_progress(connection)
        if mark is None or mark.state is not MoveState.SOURCE:
            refuse_moved_store(connection, source.name)
            raise InputError(f"{source.name} is not being moved: there is nothing to cancel")
        record_move_progress(connection, None)
        note_action(connection, by.at, by.name, Action.MOVE, "store", {"cancelled": mark.place})
    return mark.place


def _begin(source: Database, target: Database, expected: UUID | None) -> MoveProgress:
    """Let the source say that it leaves, unless it does; return what it says."""
    place = _place(target)
    with _exclusive_store(source) as connection:
        if expected is not None:
            refuse_foreign(connection, source.name, expected)
        mark = move_progress(connection)
        if mark is not None and (mark.place != place or mark.state is MoveState.TARGET):
            refuse_moved_store(connection, source.name)
        if mark is not None and mark.state is MoveState.MOVED:
            return mark
        found = _mark_of_copy(target)
        if mark is None:
            mark = MoveProgress.of_new_move(place)
        if found is not None and found.move_id != mark.move_id:
            raise InputError(f"{target.name} holds what an earlier move left: {_EMPTY}")
        record_move_progress(connection, mark)
    return mark


def _copy_and_mark(source: Database, target: Database, mark: MoveProgress, by: Actor) -> None:
    """Copy all, then let the source say that it is gone."""
    with _exclusive_store(source) as reading_it:
        if move_progress(reading_it) != mark:  # nobody held the source since it was set
            refuse_moved_store(reading_it, source.name)
            raise InputError(f"{source.name} stays: this move was cancelled meanwhile")
        if _mark_of_copy(target) is None:
            with store_errors(target), _new_store(target) as writing:
                copy_store(reading_it, writing)
                record_move_progress(writing, mark.of_copy(_place(source)))
                came_from = {"from": _place(source)}
                note_action(writing, by.at, by.name, Action.MOVE, "store", came_from)
        record_move_progress(reading_it, mark.at_its_end())
        note_action(reading_it, by.at, by.name, Action.MOVE, "store", {"to": mark.place})


def _undo_mark(source: Database, mark: MoveProgress) -> None:
    """Stay where all is after a move that failed; a copy that is there is never one to work on."""
    with _exclusive_store(source) as connection:
        if move_progress(connection) == mark:
            record_move_progress(connection, None)


def _finish(source: Database, target: Database) -> dict[str, int]:
    """Let the copy be a store, which the source is no more; return the rows that it holds."""
    with _exclusive_store(target) as connection:
        mark = move_progress(connection)
        if mark is None or (mark.state, mark.place) != (MoveState.TARGET, _place(source)):
            raise ForeignStore(
                f"{source.name} was moved to {_place(target)} before: nothing is left to move"
            )
        record_move_progress(connection, None)
        return count_rows(connection)


@contextmanager
def _exclusive_store(database: Database) -> Iterator[Connection]:
    """Open a transaction on a store of our schema that nobody else uses."""
    if not database.exists():
        raise SchemaMismatch(f"{database.name} does not exist: there is nothing to move")
    with store_errors(database), database.exclusive() as connection:
        found = stored_revision(connection)
        if found is not None:
            refuse_unknown_schema(database.name, found)
        if found != REVISION:
            raise SchemaMismatch(
                f"{database.name} has schema {found}: run `linewatch migrate` before you move"
            )
        yield connection


def _mark_of_copy(target: Database) -> MoveProgress | None:
    """Return what a copy in the target says of itself, None where the target is empty.

    InputError where it holds anything else.
    """
    if isinstance(target, SqliteFile):
        if not target.exists():
            return None
        refusal = InputError(f"{target.name} exists already: name a file that does not exist yet")
        try:
            with open_backup(target.path) as connection:
                mark = move_progress(connection)
        except StoreError as error:
            raise refusal from error
    else:
        with store_errors(target), target.exclusive() as connection:
            tables = inspect(connection).get_table_names()
            if not tables:
                return None
            refusal = InputError(f"{target.name} holds tables already: name an empty database")
            mark = move_progress(connection) if "installation" in tables else None
    if mark is None or mark.state is not MoveState.TARGET:
        raise refusal
    return mark


@contextmanager
def _new_store(target: Database) -> Iterator[Connection]:
    """Yield a transaction on a new store without content; it is there only if all goes well."""
    if isinstance(target, SqliteFile):
        with finished_as(target.path) as unfinished:
            inner = database_at(address_of(unfinished))
            with inner.exclusive() as connection:
                bring_up(connection, target.name)
                yield connection
        return
    with target.exclusive() as connection:
        bring_up(connection, target.name)
        yield connection


def _place(database: Database) -> str:
    return database.name.removeprefix(_NAMED)
