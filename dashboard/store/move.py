"""Move a store to another database: all of it, compared, and the source says where it went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, update

from dashboard.domain.audit import Action, Doer
from dashboard.errors import ForeignStore, InputError, SchemaMismatch
from dashboard.store.audit import note_action
from dashboard.store.backup import finished_as
from dashboard.store.backup_file import address_of
from dashboard.store.copying import copy_store
from dashboard.store.database import Database, database_at
from dashboard.store.engine import stored_revision
from dashboard.store.failures import store_errors
from dashboard.store.migrate import bring_up
from dashboard.store.schema import REVISION, installation
from dashboard.store.sqlite import SqliteFile

_NAMED: str = "The store "


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a store is now, and how many rows of each table were copied."""

    name: str
    rows: dict[str, int]


def move(source_url: str, target_url: str, by: Doer) -> Moved:
    """Copy everything into an empty database while nobody uses the store, then mark the store.

    The target is complete and on disk before the source is marked; until then the source is as
    it was. InputError where the target holds something.
    """
    source, target = database_at(source_url), database_at(target_url)
    target.prepare()
    place = target.name.removeprefix(_NAMED)
    with store_errors(source), source.alone() as reading:
        _refuse_what_cannot_move(reading, source.name)
        with store_errors(target), _made_empty(target) as writing:
            rows = copy_store(reading, writing)
            came_from = {"from": source.name.removeprefix(_NAMED)}
            note_action(writing, by.at, by.name, Action.MOVE, "store", came_from)
        reading.execute(update(installation).values(moved_to=place))
        note_action(reading, by.at, by.name, Action.MOVE, "store", {"to": place})
    return Moved(target.name, rows)


def _refuse_what_cannot_move(connection: Connection, name: str) -> None:
    found = stored_revision(connection)
    if found != REVISION:
        raise SchemaMismatch(f"{name} has schema {found}: run `linewatch migrate` before you move")
    moved_to = connection.scalar(installation.select().with_only_columns(installation.c.moved_to))
    if moved_to is not None:
        raise ForeignStore(f"{name} was moved to {moved_to} before: nothing is left to move")


@contextmanager
def _made_empty(target: Database) -> Iterator[Connection]:
    """Yield a transaction on a new store without content; it is there only if all goes well."""
    if isinstance(target, SqliteFile):
        if target.exists():
            raise InputError(f"{target.name} is there already: name a file that is not there yet")
        with finished_as(target.path) as unfinished:
            inner = database_at(address_of(unfinished))
            with inner.alone() as connection:
                bring_up(connection, target.name)
                yield connection
        return
    with target.alone() as connection:
        if inspect(connection).get_table_names():
            raise InputError(f"{target.name} holds tables already: name an empty database")
        bring_up(connection, target.name)
        yield connection
