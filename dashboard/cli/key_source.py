"""What commands about API keys work with: the store, and the keys that the settings hold."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

from dashboard.domain.audit import Action, Detail
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError
from dashboard.logs import configure_logs
from dashboard.serve.keys.key_sync import ConfiguredKeys
from dashboard.settings import Settings, load_settings
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.store.access.api_keys import StoredKey, all_keys, find_key
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.wiring.actor import os_user
from dashboard.wiring.clock import utc_now
from dashboard.wiring.keys import configured_keys
from dashboard.wiring.network_profiles import profile_of
from dashboard.wiring.networks import networks_of
from dashboard.wiring.store import open_checked_store


@dataclass(frozen=True, slots=True)
class OpenedKeys:
    """The installation whose keys are looked after."""

    settings: Settings
    store: Store
    profiles: tuple[NetworkProfile, ...]
    configured: ConfiguredKeys

    def found(self, connection: Connection, name: str) -> StoredKey:
        """Return the key in use of this name; InputError tells where else it may be."""
        self.refuse_configured(name, f"change [serve.keys.{name}] there")
        found = find_key(connection, name)
        if found is not None:
            return found
        ever = all_keys(connection)
        if any(each.name == name for each in ever):
            raise InputError(f"{name} was revoked before: `linewatch keys list` tells when")
        near = difflib.get_close_matches(name, [each.name for each in ever], n=1)
        hint = f"did you mean {near[0]}?" if near else "`linewatch keys list` shows all"
        raise InputError(f"no key is called {shorten(name)}: {hint}")

    def note(
        self, connection: Connection, action: Action, name: str, details: Mapping[str, Detail]
    ) -> None:
        """Write an act into the audit log."""
        note_action(connection, utc_now(), os_user(), action, name, details)

    def refuse_configured(self, name: str, remedy: str) -> None:
        """Raise InputError for the name of a key that the settings hold."""
        if name in {key.name for key in self.configured.keys}:
            if self.settings.has_development_key:
                remedy = "it is off as soon as a key or network of your own is configured"
            raise InputError(
                f"{name} is a key of the settings, which commands do not change: {remedy}"
            )

    def network_name(self, network_id: NetworkId) -> str:
        """Name a network, by its id where it left the configuration."""
        names = (profile.name for profile in self.profiles if profile.network_id == network_id)
        return next(names, str(network_id))


@contextmanager
def opened_keys() -> Iterator[OpenedKeys]:
    """Open the store that the settings name; SettingsError or StoreError say what is wrong."""
    configure_logs("command", logging.ERROR)
    settings = load_settings()
    profiles = tuple(profile_of(network, settings) for network in networks_of(settings))
    with closing(open_checked_store(settings)) as store:
        yield OpenedKeys(settings, store, profiles, configured_keys(settings))
