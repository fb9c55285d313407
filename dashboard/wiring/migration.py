"""Bring an installation's store to this version's schema; apart, since few processes do it."""

from __future__ import annotations

from dashboard.settings import Settings
from dashboard.store.migrate import migrate
from dashboard.wiring.store import store_url


def migrate_store(settings: Settings) -> str:
    """Create the store, or bring it to our schema; return the schema's name."""
    return migrate(store_url(settings))
