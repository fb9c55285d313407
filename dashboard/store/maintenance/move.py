"""Move a store to another database: everything is compared, and the source says where it went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import Connection, inspect

from dashboard.domain.people.access import Action, Actor
from dashboard.errors import ForeignStore, InputError, SchemaMismatch, StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.connection import Database
from dashboard.store.engine.database import address_of, database_at, store_errors
from dashboard.store.engine.engine import (
    MoveMark,
    move_mark,
    refuse_foreign,
    refuse_moved_store,
    set_move_mark,
    stored_revision,
)
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.backup import open_backup
from dashboard.store.maintenance.copy import copy_store
from dashboard.store.maintenance.migrate import bring_up
from dashboard.store.maintenance.restore import own_functions
from dashboard.store.maintenance.sqlite_copy import finished_as
from dashboard.store.maintenance.verify import count_rows
from dashboard.store.schema import REVISION, refuse_unknown_schema

_NAMED: Final = "The store "


class Moved(Struct, frozen=True):
    """Where a store is now, and how many rows of each table were copied."""

    name: str
    rows: dict[str, int]


def move(source_url: str, target_url: str, by: Actor, expected: UUID | None = None) -> Moved:
    """Copy everything into an empty database while nobody uses the store, then mark the store.

    Wherever this is killed, at most one of the two accepts workers: the source until it is marked,
    then neither until the copy is complete. The same call again copies from the beginning, or
    completes. InputError if the target contains something else; ForeignStore if the store belongs
    to another installation than the `expected` one.
    """
    source, target = database_at(source_url), database_at(target_url)
    target.prepare()
    to = MoveMark(_place(target))
    with _exclusive_store(source) as connection:
        if expected is not None:
            refuse_foreign(connection, source.name, expected)
        if move_mark(connection) is None:
            _copy(connection, source, target, by)
            set_move_mark(connection, to)
            note_action(connection, by, Action.MOVE, "store", {"to": to.place})
        elif move_mark(connection) != to:
            refuse_moved_store(connection, source.name)
    return Moved(target.name, _complete(source, target))


def _copy(connection: Connection, source: Database, target: Database, by: Actor) -> None:
    """Copy everything into the target, which is not a store yet, and is on disk then."""
    mark = _mark_of_copy(source)
    with store_errors(target), _new_store(target, mark) as writing:
        copy_store(connection, writing)
        set_move_mark(writing, mark)
        note_action(writing, by, Action.MOVE, "store", {"from": mark.place})


def _complete(source: Database, target: Database) -> dict[str, int]:
    """Make the copy the store in place of the source; return the rows that it has."""
    with _exclusive_store(target) as connection:
        if move_mark(connection) != _mark_of_copy(source):
            raise ForeignStore(
                f"{source.name} was moved to {_place(target)} before: nothing is left to move"
            )
        set_move_mark(connection, None)
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


@contextmanager
def _new_store(target: Database, mark: MoveMark) -> Iterator[Connection]:
    """Yield a transaction on a new store without content, which only exists if all goes well.

    A copy with that mark, of a move that was not completed, is replaced. InputError if the target
    contains anything else.
    """
    if isinstance(target, SqliteFile):
        if target.exists() and _mark_in(target) != mark:
            raise InputError(f"{target.name} exists already: name a file that does not exist yet")
        with finished_as(target.path, overwrites=True) as unfinished:
            inner = database_at(address_of(unfinished))
            with inner.exclusive() as connection:
                bring_up(connection, target.name)
                yield connection
        return
    with target.exclusive() as connection:
        _make_empty(connection, target, mark)
        bring_up(connection, target.name)
        yield connection


def _mark_in(target: SqliteFile) -> MoveMark | None:
    """Return the mark of a store in a file; None if it is not a store, or has no readable mark."""
    try:
        with open_backup(target.path) as connection:
            return move_mark(connection)
    except StoreError:
        return None


def _make_empty(connection: Connection, target: Database, mark: MoveMark) -> None:
    tables = inspect(connection).get_table_names()
    if tables and ("installation" not in tables or move_mark(connection) != mark):
        raise InputError(f"{target.name} holds tables already: name an empty database")
    for table in tables:
        connection.exec_driver_sql(f'DROP TABLE "{table}" CASCADE')
    for function in own_functions(connection):
        connection.exec_driver_sql(f"DROP FUNCTION {function}")


def _mark_of_copy(source: Database) -> MoveMark:
    return MoveMark(_place(source), is_copy=True)


def _place(database: Database) -> str:
    return database.name.removeprefix(_NAMED)
