"""The store of an installation, found and opened from its settings."""

from __future__ import annotations

from contextlib import closing

from dashboard.errors import StoreError
from dashboard.settings import Settings
from dashboard.store.engine import Store, open_store
from dashboard.store.leases import holder
from dashboard.wiring.worker_lease import WORKER_LEASE


def store_url(settings: Settings) -> str:
    """Return the configured address, or that of the SQLite file in the state folder."""
    return settings.store.url.reveal() or f"sqlite:///{settings.home / 'linewatch.sqlite'}"


def open_checked_store(settings: Settings) -> Store:
    """Open the store; StoreError where it has no schema, or another one than ours."""
    return open_store(store_url(settings))


def worker_is_alive(settings: Settings) -> bool:
    """Whether some worker holds the lease now; false where there is no store yet."""
    try:
        with closing(open_checked_store(settings)) as store, store.read() as connection:
            return holder(connection, WORKER_LEASE) is not None
    except StoreError:
        return False
