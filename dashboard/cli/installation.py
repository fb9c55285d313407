"""What commands answer from: the store and the networks of this installation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from dashboard.application.context import ApplicationContext
from dashboard.cli.options import chosen_id
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId
from dashboard.domain.tables import read_spreadsheet
from dashboard.domain.tracking.paste import LONGEST_PASTE
from dashboard.errors import InputError
from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.settings.layers import read_text
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import Network, shown_networks
from dashboard.wiring.page_settings import page_settings, profile_of
from dashboard.wiring.store import open_checked_store, os_user

_LONGEST_CHARACTER: Final = 4
"""Bytes, in UTF-8 and in UTF-16."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation whose store is open; `source` is what pages are answered from as well."""

    settings: Settings
    networks: tuple[Network, ...]
    source: ApplicationContext

    def user(self, name: str | None = None) -> Actor:
        """Return who acts now: the user of this machine, unless another is named."""
        return Actor(name or self.source.actor, self.source.now())

    def chosen_id(self, text: str | None) -> NetworkId | None:
        """Return the id of the network that a person named, configured or still in the store."""
        return chosen_id(text, self.source.networks, self.source.has_data_of)


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
        return read_text(file)
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: save it as UTF-8 ({error.reason})") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error


def standard_input(most: int = LONGEST_PASTE) -> str:
    """Read standard input to its end; what is no text becomes replacement characters.

    InputError as `octets_of`.
    """
    octets = octets_of(sys.stdin.buffer, most)
    try:
        return read_spreadsheet(octets)
    except InputError:
        return octets.decode("utf-8", errors="replace")


def octets_of(file: BinaryIO, most: int) -> bytes:
    """Read a text of at most so many characters; InputError for more, and its rest stays unread."""
    octets = file.read(most * _LONGEST_CHARACTER + 1)
    if len(octets) > most * _LONGEST_CHARACTER:
        raise InputError(
            f"the text has more than {most:,} characters: give at most {most:,} at once"
        )
    return octets
