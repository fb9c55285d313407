"""What commands answer from: the store and the networks of this installation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dashboard.application.context import ApplicationContext
from dashboard.cli.options import chosen_id
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.reasons import Reason
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tables import read_spreadsheet
from dashboard.errors import InputError
from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.store.alerts.alert_status import open_incidents
from dashboard.store.alerts.notification_search import NotificationFilter, search_notifications
from dashboard.store.gas import LatestGas, latest_gas
from dashboard.store.rejections.search import search
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import Network, shown_networks
from dashboard.wiring.page_settings import page_settings, profile_of
from dashboard.wiring.store import open_checked_store, os_user


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation whose store is open; `source` is what pages are answered from as well."""

    settings: Settings
    networks: tuple[Network, ...]
    source: ApplicationContext

    def user(self) -> Actor:
        """Return who acts where nobody else is named: the user of this machine, now."""
        return Actor(self.source.actor, self.source.now())

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

    def chosen_id(self, text: str | None) -> NetworkId | None:
        """Return the id of the network that a person named, configured or still in the store."""
        return chosen_id(text, self.source.networks, self._is_stored)

    def _is_stored(self, network_id: NetworkId) -> bool:
        """Whether the store holds rejections, notifications, incidents or fees of a network."""
        with self.source.store.read() as connection:
            fees = latest_gas(connection, network_id, self.source.now())
            return bool(
                search(connection, RejectionFilter(network_id=network_id), 1)
                or search_notifications(connection, NotificationFilter(network_id=network_id), 1)
                or network_id in {each.subject.network_id for each in open_incidents(connection)}
                or fees != LatestGas()
            )


@contextmanager
def open_installation() -> Iterator[Installation]:
    """Open the store that the settings name; SettingsError or StoreError say what is wrong."""
    configure_logs("command", logging.ERROR)
    settings = load_settings()
    networks = shown_networks(settings)
    profiles = tuple(profile_of(network, settings) for network in networks)
    with closing(open_checked_store(settings)) as store:
        source = ApplicationContext(store, profiles, utc_now, os_user(), page_settings(settings))
        yield Installation(settings, networks, source)


def text_of(file: Path) -> str:
    """Return the text of a file, or of standard input where it is called -; InputError."""
    if str(file) == "-":
        return standard_input()
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: save it as UTF-8 ({error.reason})") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error


def standard_input() -> str:
    """Read standard input to its end; what is no text becomes replacement characters."""
    octets = sys.stdin.buffer.read()
    try:
        return read_spreadsheet(octets)
    except InputError:
        return octets.decode("utf-8", errors="replace")
