"""What commands answer from: the store and the networks of this installation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason import Reason
from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.show.asking.source import Source
from dashboard.wiring.cards import card_of
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import Network, networks_of
from dashboard.wiring.store import open_checked_store


@dataclass(frozen=True, slots=True)
class Opened:
    """An installation whose store is open; `source` is what pages are answered from as well."""

    settings: Settings
    networks: tuple[Network, ...]
    source: Source

    def is_simulated(self, network_id: NetworkId) -> bool:
        """Whether a network is made up."""
        return self.source.is_simulated(network_id)

    def reason_of(self, stored: StoredRejection) -> Reason:
        """Read a rejection's reason, with the limit that its network has where it names none."""
        return self.source.reason_of(stored)

    def label(self, network_id: NetworkId) -> str:
        """Name a network as people see it, and say if it is made up."""
        name = self.source.network_name(network_id)
        return f"{name} (simulated)" if self.is_simulated(network_id) else name


@contextmanager
def opened() -> Iterator[Opened]:
    """Open the store that the settings name; SettingsError or StoreError say what is wrong."""
    configure_logs("command", logging.ERROR)
    settings = load_settings()
    networks = networks_of(settings)
    cards = tuple(card_of(network, settings) for network in networks)
    with closing(open_checked_store(settings)) as store:
        yield Opened(settings, networks, Source(store, cards, utc_now))


def standard_input() -> str:
    """Read standard input to its end; what is no text becomes replacement characters."""
    return sys.stdin.buffer.read().decode("utf-8", errors="replace")
