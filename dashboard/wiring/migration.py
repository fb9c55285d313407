"""Upgrade an installation's store to this version's schema; few processes import it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from dashboard.domain.audit import Actor
from dashboard.errors import SchemaMismatch
from dashboard.settings import Settings
from dashboard.store.engine.engine import installation_id, open_store
from dashboard.store.maintenance.backup import copy_before_upgrade
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import REVISION
from dashboard.wiring.actor import os_user
from dashboard.wiring.clock import utc_now
from dashboard.wiring.installation import belong_to, own_id
from dashboard.wiring.store import open_checked_store, store_url


@dataclass(frozen=True, slots=True)
class Migrated:
    """The schema of the store now, and the copy from before the upgrade, if one was made."""

    schema: str
    copy: Path | None = None


def migrate_store(settings: Settings, *, copies_first: bool | None = None) -> Migrated:
    """Create the store, or bring it to our schema.

    The state folder then belongs to the installation of the store; ForeignStore where it belongs
    to another. `copies_first`: whether a SQLite file is copied before; None: as the settings say.
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
