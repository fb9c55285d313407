"""The store of an installation: found, opened, upgraded, and known by its id."""

from __future__ import annotations

import os
import pwd
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from msgspec import Struct

from dashboard.domain.people.access import Actor
from dashboard.errors import ForeignStore, SchemaMismatch, SettingsError, StoreError
from dashboard.logs import get_logger
from dashboard.settings import Settings
from dashboard.settings.chosen import Chosen, with_chosen
from dashboard.store.chosen_settings import chosen_values
from dashboard.store.engine.connection import LONGEST_PAUSE
from dashboard.store.engine.database import address_of, database_at
from dashboard.store.engine.disk import put_file
from dashboard.store.engine.engine import Store, check_installation, installation_id, open_store
from dashboard.store.engine.leases import WORKER_LEASE, holder
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.migrate import copy_before_upgrade, migrate
from dashboard.store.schema import REVISION
from dashboard.wiring.clock import utc_now

_ROLE_CHECK: Final = timedelta(seconds=0.5)
"""How long a role checks pages before it begins: 250 MB of them, even in a store of 10 GB."""

_log = get_logger(__name__)


def store_url(settings: Settings) -> str:
    """Return the configured address, or that of the SQLite file in the state folder."""
    return settings.store.url.reveal() or address_of(settings.home / "linewatch.sqlite")


def open_checked_store(
    settings: Settings,
    damage_search: timedelta = timedelta(0),
    longest_pause: timedelta = LONGEST_PAUSE,
) -> Store:
    """Open the store; StoreError if it is damaged, has another schema or is not ours.

    A state folder without an installation joins that of its store, if the store is on a server or
    in this very folder. Any other file may belong to another one.
    """
    url = store_url(settings)
    store = open_store(url, damage_search=damage_search, longest_pause=longest_pause)
    try:
        _belong(settings, store)
    except BaseException:
        store.close()
        raise
    return store


def open_role_store(settings: Settings, longest_pause: timedelta = LONGEST_PAUSE) -> Store:
    """Open the store for a role, which checks longer for damage than a command does."""
    return open_checked_store(settings, _ROLE_CHECK, longest_pause)


def open_reading_store(settings: Settings) -> Store:
    """Open the store for a role that people and programs ask, with the replica if there is one."""
    store = open_role_store(settings)
    use_replica(settings, store)
    return store


def in_force(settings: Settings, store: Store) -> Settings:
    """Return the settings with what people have chosen on the page Settings."""
    with store.read() as connection:
        return with_chosen(settings, chosen_values(connection))[0]


def chosen_here(settings: Settings) -> Chosen:
    """Return what people chose on the page Settings; nothing if the store cannot be read."""
    try:
        with closing(open_checked_store(settings)) as store, store.read() as connection:
            return chosen_values(connection)
    except (StoreError, SettingsError):
        return {}


def use_replica(settings: Settings, store: Store) -> None:
    """Let the replica answer what need not be the newest, if the settings name one."""
    if url := settings.store.read_url.reveal():
        store.use_replica(url, settings.store.read_lag)


def worker_is_alive(settings: Settings) -> bool:
    """Whether some worker holds the lease now; false if there is no store yet."""
    try:
        with closing(open_checked_store(settings)) as store, store.read() as connection:
            return holder(connection, WORKER_LEASE) is not None
    except StoreError:
        return False


def _belong(settings: Settings, store: Store) -> None:
    own = own_id(settings)
    if own is not None:
        check_installation(store, own)
        return
    with store.read() as connection:
        found = installation_id(connection)
    if not _may_join(settings):
        raise ForeignStore(
            f"{store.name} belongs to the installation {found}, and the state folder "
            f"{settings.home} to none: run `linewatch join` if this machine is to work on it, or "
            "give it a store of its own"
        )
    if belong_to(settings, found):
        _log.info("this state folder belongs to an installation now", installation=str(found))


def _may_join(settings: Settings) -> bool:
    """Whether a store may be ours although nothing says so."""
    database = database_at(store_url(settings))
    if not isinstance(database, SqliteFile):
        return True
    return database.path.resolve().is_relative_to(settings.home.resolve())


class Migrated(Struct, frozen=True):
    """The present schema of the store, and the copy from before the upgrade, if there is one."""

    schema: str
    copy: Path | None = None


def migrate_store(settings: Settings, *, copies_first: bool | None = None) -> Migrated:
    """Create the store, or upgrade it to our schema.

    The state folder then belongs to the installation of the store; ForeignStore if it belongs to
    another. `copies_first`: whether a SQLite file is copied before; None: as the settings say.
    """
    try:
        open_checked_store(settings).close()
    except SchemaMismatch:
        copies = settings.store.backup_before_upgrade if copies_first is None else copies_first
        return _upgrade(settings, own_id(settings), copies_first=copies)
    return Migrated(REVISION)


def _upgrade(settings: Settings, own: UUID | None, *, copies_first: bool) -> Migrated:
    url = store_url(settings)
    copy = copy_before_upgrade(url) if copies_first else None
    schema = migrate(url, own, Actor(os_user(), utc_now()))
    if own is None:
        with closing(open_store(url)) as store, store.read() as connection:
            belong_to(settings, installation_id(connection))
    return Migrated(schema, copy)


FILE: Final = "installation"


def own_id(settings: Settings) -> UUID | None:
    """Return the id of this state folder's installation, None if it belongs to none yet."""
    path = settings.home / FILE
    try:
        return UUID(path.read_text(encoding="ascii").strip())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} does not hold the id of an installation ({error}): delete it, then run "
            "`linewatch join`"
        ) from error


def belong_to(settings: Settings, installation_id: UUID) -> bool:
    """Assign this state folder to an installation; False if no file can be written."""
    path = settings.home / FILE
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        put_file(path, f"{installation_id}\n".encode(), Path(f"{path}.{uuid4().hex[:8]}"))
    except OSError:
        return False
    return True


def os_user() -> str:
    """Return the name, or else the number, of the user who runs this process."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
