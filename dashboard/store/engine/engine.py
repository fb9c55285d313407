"""The store, opened: transactions that read and that write; refused if it was moved.

The target says that it is a copy until the source says that it was moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import count
from threading import Lock, local
from typing import Final, NamedTuple, Self
from uuid import UUID

from sqlalchemy import Connection, Engine, ExceptionContext, event, inspect, select, text, update

from dashboard.domain.quantity import shorten
from dashboard.errors import ForeignStore, InputError, SchemaMismatch, StoreError, StoreUnavailable
from dashboard.store.engine.connection import (
    DATABASE,
    LONGEST_PAUSE,
    PATIENCE,
    Database,
    set_patience,
)
from dashboard.store.engine.database import DriverReader, database_at, store_errors
from dashboard.store.engine.lease_clock import BootClock, BootMoment
from dashboard.store.engine.replica import Replica, ReplicaState
from dashboard.store.schema import REVISION, installation, refuse_unknown_schema

_COPY: Final = "copy of "
_OUT_OF_RANGE: Final = "22003"
"""PostgreSQL's code of the error for a number that has too many bits, as for a wrong sum."""

_BITS: Final = 63


class MoveMark(NamedTuple):
    """Where a store was moved to, or where an incomplete copy comes from."""

    place: str
    is_copy: bool = False


def move_mark(connection: Connection) -> MoveMark | None:
    """Return the mark of a store that must not be used; None for any other."""
    stored: str | None = connection.scalar(select(installation.c.moved_to))
    if stored is None:
        return None
    return MoveMark(stored.removeprefix(_COPY), stored.startswith(_COPY))


def set_move_mark(connection: Connection, mark: MoveMark | None) -> None:
    """Mark a store as moved or incomplete; None removes the mark."""
    stored = None if mark is None else f"{_COPY if mark.is_copy else ''}{mark.place}"
    connection.execute(update(installation).values(moved_to=stored))


def refuse_moved_store(connection: Connection, name: str) -> None:
    """Raise ForeignStore, naming the remedy, if a store was moved or is an incomplete copy."""
    mark = move_mark(connection)
    if mark is None:
        return
    if mark.is_copy:
        raise ForeignStore(
            f"{name} is the copy of a move from {mark.place} that was not completed: run "
            "`linewatch move --to` again there, with this as its target"
        )
    raise ForeignStore(
        f"{name} was moved to {mark.place}: set store.url, or LINEWATCH_STORE_URL, to that"
    )


_CLOCK: Final = "linewatch_clock"


class Store:
    """Everything that an installation remembers; many threads and processes use it at once."""

    _replica: Replica | None = None

    def __init__(
        self, database: Database, reader: Engine, writer: Engine, idler: Engine, renewer: Engine
    ) -> None:
        """Use four engines on one database.

        The `idler` does not wait for the disk, nor the `renewer` for other writers if the database
        allows that.
        """
        self.name = database.name
        self._database = database
        self._reader = reader
        self._writer = writer
        self._idler = idler
        self._renewer = renewer
        self._is_renewing = Lock()
        self._together = local()
        self._driver_readers: list[DriverReader] = []
        self._has_failed = False
        self._numbers = count(1)
        self.writes = 0
        """How many transactions were written here: an answer with another number may be old."""

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read-only transaction that sees one moment of the store.

        It waits for no writer. StoreUnavailable if the store cannot be read now.
        """
        if (opened := self._opened_together()) is not None:
            yield opened
            return
        with store_errors(self._database), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def read_recent(self) -> Iterator[Connection]:
        """Open a transaction like `read`, on the replica if there is one that is recent enough.

        It contains what this process saved, but may lack what others saved in the last seconds. So
        do not use it to decide who may do something, or for what an act depends on.
        """
        with ExitStack() as opened:
            yield self._recent(opened) or opened.enter_context(self.read())

    def _recent(self, opened: ExitStack) -> Connection | None:
        """Open a transaction on the replica; None where the primary is to answer."""
        if self._replica is None or self._opened_together() or not self._replica.may_answer:
            return None
        try:
            return opened.enter_context(self._replica.read())
        except StoreUnavailable:
            return None

    def replica_state(self) -> ReplicaState | None:
        return None if self._replica is None else self._replica.state()

    def use_replica(self, url: str, largest: timedelta) -> None:
        """Let `read_recent` ask a replica that is behind by at most `largest`.

        StoreError for an invalid address; a replica that is down is used when it comes back.
        """
        database = database_at(url)
        database.name = database.name.replace("The store", "The replica", 1)
        engine = database.reading_engine()
        own = engine.execution_options(**{DATABASE: database, _CLOCK: None})
        self._replica = Replica(DriverReader(self._reader, self._database), database, own, largest)
        self._replica.start()

    @contextmanager
    def write(self, patience: timedelta | None = None) -> Iterator[Connection]:
        """Open the one transaction that may write now; it is on disk when this ends well.

        An error inside undoes all of it. StoreUnavailable: nothing was saved, try again; for
        example if other processes wrote for longer than `patience`, by default that of the store.
        Never open a second one inside, except in `write_together`: it would wait for the first.
        """
        if (opened := self._opened_together()) is not None:
            yield opened
            return
        try:
            with store_errors(self._database), self._writer.connect() as connection:
                with self._is_renewing:
                    pass  # a renewal that waits goes before this
                if patience is not None:
                    set_patience(connection, patience)
                with connection.begin():
                    yield connection
        except StoreError:
            self._has_failed = True
            raise
        self._has_failed = False
        if self._replica is not None:
            self._replica.note_write()
        self.writes = next(self._numbers)

    @contextmanager
    def write_together(self) -> Iterator[Connection]:
        """Make everything that this thread reads and writes inside one transaction.

        An error undoes all of it, unless it is handled inside.
        """
        with self.write() as connection:
            self._together.connection = connection
            try:
                yield connection
            finally:
                self._together.connection = None

    def _opened_together(self) -> Connection | None:
        opened: Connection | None = getattr(self._together, "connection", None)
        return opened

    def check_writing(self) -> None:
        """Raise StoreError if nothing could be saved now; saves nothing to find out.

        If the last write failed, only another write shows whether it still does: see
        `prove_writing`.
        """
        with self.read() as connection:
            self._database.check_space(connection)
        if self._has_failed:
            prove_writing(self)

    @contextmanager
    def write_unsynced(self) -> Iterator[Connection]:
        """Open a transaction like `write`, for work that can be repeated, such as deleting.

        It lets others write as soon as it ends and does not wait for the disk: a power cut may undo
        all of it, but nothing that was saved after it.
        """
        with store_errors(self._database), self._idler.begin() as connection:
            yield connection

    @contextmanager
    def renew(self) -> Iterator[Connection]:
        """Open a transaction that renews a lease, on a connection of its own.

        It waits for at most one other job of this process, however many wait to write.
        """
        with self._is_renewing, store_errors(self._database), self._renewer.begin() as connection:
            yield connection

    def driver_reader(self) -> DriverReader:
        """Return a very fast reader below SQLAlchemy, meant for one question at a time."""
        reader = DriverReader(self._reader, self._database)
        self._driver_readers.append(reader)
        return reader

    def checkpoint(self) -> None:
        """Keep the log of writes short, without waiting for others."""
        with store_errors(self._database), self._reader.connect() as connection:
            self._database.checkpoint(connection)

    def end_stalled_writer(self, longest: timedelta) -> None:
        """End the transaction of a process that stopped within it, as `Database` says."""
        with store_errors(self._database), self._reader.connect() as connection:
            self._database.end_stalled_writer(connection, longest)

    def close(self) -> None:
        if self._replica is not None:
            self._replica.close()
        for reader in self._driver_readers:
            reader.close()
        self._reader.dispose()
        self._writer.dispose()
        self._idler.dispose()
        self._renewer.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(
    url: str,
    clock: BootClock | None = None,
    patience: timedelta = PATIENCE,
    damage_search: timedelta = timedelta(0),
    longest_pause: timedelta = LONGEST_PAUSE,
) -> Store:
    """Open a store that `migrate` created; SchemaMismatch if it has another schema.

    `clock` times leases; by default it is the database's own. A writer waits up to `patience` for
    others, then StoreUnavailable. If this process stops within a transaction, a server ends that
    after `longest_pause`, so that others can write. Damage that shows at once raises StoreError;
    the search for more takes up to `damage_search`. ForeignStore if the store was moved.
    """
    database = database_at(url)
    if not database.exists():
        raise SchemaMismatch(
            f"{database.name} does not exist yet: run `linewatch migrate` for a new one, or "
            "`linewatch restore FILE` with a backup"
        )
    was = database.identity()
    options = {DATABASE: database, _CLOCK: clock}
    engines = (
        database.reading_engine(),
        database.writing_engine(patience, longest_pause),
        database.writing_engine(patience, longest_pause, is_synced=False),
        database.writing_engine(patience, longest_pause, takes_turns=False),
    )
    for each in engines:
        event.listen(each, "handle_error", _refuse_long_number)
    store = Store(database, *(each.execution_options(**options) for each in engines))
    try:
        check_store(store, damage_search)
        if database.identity() != was:
            raise StoreUnavailable(f"{store.name} was replaced just now: try again")
    except BaseException:
        store.close()
        raise
    return store


def _refuse_long_number(failure: ExceptionContext) -> None:
    """Refuse an id or chain id that a person typed and that the database cannot even compare."""
    error, given = failure.original_exception, failure.parameters or ()
    if not isinstance(error, OverflowError) and getattr(error, "sqlstate", "") != _OUT_OF_RANGE:
        return
    numbers = given.values() if isinstance(given, Mapping) else given
    longest = max((each for each in numbers if isinstance(each, int)), key=abs, default=0)
    if longest.bit_length() > _BITS:
        raise InputError(
            f"{shorten(str(longest))} has more than 64 bits and so names nothing here: "
            "give the number as it is listed"
        ) from error


def check_store(store: Store, damage_search: timedelta) -> None:
    """Raise StoreError, naming the remedy, unless the store is intact, has our schema and is here.

    `damage_search` is how long to search for damage that does not show at once.
    """
    with store.read() as connection:
        database_of(connection).check_corruption(connection, damage_search)
        check_schema(connection)
        refuse_moved_store(connection, store.name)


def check_schema(connection: Connection) -> None:
    """Raise SchemaMismatch, naming both schemas and the remedy, unless the store has ours."""
    found, name = stored_revision(connection), database_of(connection).name
    if found == REVISION:
        return
    if found is None:
        raise SchemaMismatch(
            f"{name} has no schema yet: run `linewatch migrate` if it is new; if it held "
            "something, `linewatch restore FILE` with a backup"
        )
    refuse_unknown_schema(name, found)
    raise SchemaMismatch(
        f"{name} has schema {found}, this version of Linewatch uses {REVISION}: "
        "run `linewatch migrate`"
    )


def database_of(connection: Connection) -> Database:
    """Return the database that a transaction of the store works in."""
    database: Database = connection.get_execution_options()[DATABASE]
    return database


def product_of(connection: Connection) -> str:
    """Return the name and the version of the database system."""
    name = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}[connection.dialect.name]
    return f"{name} {'.'.join(map(str, connection.dialect.server_version_info or ()))}"


def lease_time(connection: Connection) -> BootMoment:
    """Return the time by which leases expire."""
    clock: BootClock | None = connection.get_execution_options()[_CLOCK]
    return database_of(connection).now(connection) if clock is None else clock()


def prove_writing(store: Store) -> None:
    """Save something that changes nothing; StoreError if the store could save nothing now.

    Only a commit shows a full disk: until then the database writes to memory.
    """
    with store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))


def stored_revision(connection: Connection) -> str | None:
    """Return the schema of the store, None if it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def installation_id(connection: Connection) -> UUID:
    """Return the id of the installation that this store belongs to."""
    found: UUID = connection.scalars(select(installation.c.installation_id)).one()
    return found


def check_installation(store: Store, expected: UUID) -> None:
    """Raise ForeignStore unless the store belongs to the expected installation."""
    with store.read() as connection:
        refuse_foreign(connection, store.name, expected)


def refuse_foreign(connection: Connection, name: str, expected: UUID) -> None:
    """Raise ForeignStore unless the store belongs to the expected installation."""
    found = connection.scalars(select(installation.c.installation_id)).first()
    if found not in {None, expected}:
        raise ForeignStore(
            f"{name} belongs to the installation {found}, and this "
            f"LINEWATCH_HOME to {expected}: give each installation a store of its own; if this "
            "machine is to work on that one, run `linewatch join --force`"
        )
