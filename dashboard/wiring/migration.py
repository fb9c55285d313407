"""Bring an installation's store to this version's schema; apart, since few processes do it."""

from __future__ import annotations

from dashboard.domain.audit import Doer
from dashboard.settings import Settings
from dashboard.store.migrate import migrate
from dashboard.wiring.actor import os_user
from dashboard.wiring.clock import utc_now
from dashboard.wiring.store import store_url


def migrate_store(settings: Settings) -> str:
    """Create the store, or bring it to our schema; return the schema's name."""
    return migrate(store_url(settings), by=Doer(os_user(), utc_now()))
