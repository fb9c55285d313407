"""The store of an installation, found and opened from its settings."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Final

from dashboard.errors import ForeignStore, StoreError
from dashboard.logs import get_logger
from dashboard.settings import Settings
from dashboard.store.engine.database import database_at
from dashboard.store.engine.engine import Store, check_installation, installation_id, open_store
from dashboard.store.engine.leases import WORKER_LEASE, holder
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.backup_file import address_of
from dashboard.wiring.installation import belong_to, own_id

_ROLE_CHECK: Final = timedelta(seconds=0.5)
"""How long a role checks pages before it begins: 250 MB of them, also of a store of 10 GB."""

_log = get_logger(__name__)


def store_url(settings: Settings) -> str:
    """Return the configured address, or that of the SQLite file in the state folder."""
    return settings.store.url.reveal() or address_of(settings.home / "linewatch.sqlite")


def open_checked_store(settings: Settings, look: timedelta = timedelta(0)) -> Store:
    """Open the store; StoreError where it is damaged, of another schema or not ours.

    A state folder that belongs to no installation yet joins the one whose store it is to
    use, if that is on a server or in this very folder. Any other file may be of another one.
    """
    store = open_store(store_url(settings), look=look)
    try:
        _belong(settings, store)
    except BaseException:
        store.close()
        raise
    return store


def open_role_store(settings: Settings) -> Store:
    """Open the store for a role, which checks longer for damage than a command does."""
    return open_checked_store(settings, _ROLE_CHECK)


def worker_is_alive(settings: Settings) -> bool:
    """Whether some worker holds the lease now; false where there is no store yet."""
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
    """Whether a store may be taken for ours though nothing says so."""
    database = database_at(store_url(settings))
    if not isinstance(database, SqliteFile):
        return True
    return database.path.resolve().is_relative_to(settings.home.resolve())
