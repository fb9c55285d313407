"""What commands work with: the store and the networks of this installation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from io import StringIO
from pathlib import Path
from typing import BinaryIO, Final, TextIO

import click
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.context import ApplicationContext
from dashboard.application.lookup import LookUp
from dashboard.cli.options import chosen_id
from dashboard.cli.place import (
    STANDARD_INPUT,
    Elsewhere,
    Place,
    place,
    read_by_command,
    subjects_of,
)
from dashboard.domain.csv_tables import read_spreadsheet
from dashboard.domain.people.access import Actor, Way
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.tracking.hashes_in_text import LONGEST_PASTE
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

_LONGEST_OUTPUT: Final = 20_000_000
"""How many characters a command may print for a program elsewhere."""


class Installation(Struct, frozen=True):
    """An installation whose store is open; `source` also answers the pages."""

    settings: Settings
    networks: tuple[Network, ...]
    source: ApplicationContext

    def user(self, name: str | None = None) -> Actor:
        """Return who acts now: the user of this machine, unless another is named."""
        return Actor(name or self.source.actor, self.source.now(), way=Way.COMMAND)

    def opens(self, *subjects: str) -> bool:  # noqa: ARG002 - of tokens
        """Whether the actor may see these subjects of the management API."""
        return True

    def asking(self) -> AbstractContextManager[LookUp | None]:
        """Return the live look-up, None if no network can be asked."""
        from dashboard.wiring.lookup import live_lookup  # noqa: PLC0415 - loads all clients

        return live_lookup(self.settings, self.source.store, self.networks)

    def chosen_id(self, text: str | None) -> NetworkId | None:
        """Return the id of the network that a person named, configured or still in the store."""
        return chosen_id(text, self.source.networks, self.source.has_data_of)


class ServedInstallation(Installation, frozen=True):
    """The installation of this process, for a program elsewhere; `by` is its actor."""

    by: Actor
    look_up: LookUp | None

    def user(self, name: str | None = None) -> Actor:
        """Return who acts now; InputError if that is to be somebody else."""
        if name is not None:
            raise InputError(f"{self.by.name} acts under its own name: leave --by out")
        return replace(self.by, at=self.source.now())

    def opens(self, *subjects: str) -> bool:
        """Whether the token gives access to these subjects."""
        return self.by.subjects is None or self.by.subjects.issuperset(subjects)

    def asking(self) -> AbstractContextManager[LookUp | None]:
        """Return the live look-up of the pages."""
        return nullcontext(self.look_up)


class Served(Place):
    """The process of the pages, while it runs a command of a program elsewhere."""

    def __init__(
        self,
        installation: ServedInstallation,
        files: Mapping[str, str],
        admit: Callable[[str], None],
    ) -> None:
        """Print into memory; `admit` raises NotAllowed for a subject without access."""
        super().__init__(dict(files))
        self.installation = installation
        self.output, self.errors = StringIO(), StringIO()
        self._admit = admit

    def open(self) -> ServedInstallation:
        """Return the installation; InputError if a program may not run the command."""
        for subject in subjects_of(self.path(click.get_current_context())):
            self._admit(subject)
        return self.installation

    def read(self, name: str, read: Callable[[], str]) -> str:  # noqa: ARG002 - nothing is read here
        """Return a text that was sent."""
        if name not in self.files:
            raise InputError(f"the text of {shorten(name)} was not sent with the command")
        return self.files[name]

    def stream(self, *, err: bool) -> TextIO:
        """Return where to print; InputError if there is too much output already."""
        if not err:
            self.make_room(0)
        return self.errors if err else self.output

    def make_room(self, size: int) -> None:
        """Raise InputError if the answer would exceed the limit with so many more characters."""
        if self.output.tell() + size > _LONGEST_OUTPUT:
            raise InputError(
                f"the answer has more than {_LONGEST_OUTPUT:,} characters: ask for less, such as "
                "with a smaller --limit"
            )

    def waits_for_input(self) -> bool:
        """Whether standard input was not sent."""
        return STANDARD_INPUT not in self.files


@contextmanager
def open_installation() -> Iterator[Installation]:
    """Open the store that the settings name; SettingsError or StoreError say what is wrong.

    If the command is to run elsewhere, it is sent there, and this process ends.
    """
    where = place()
    if isinstance(where, Served):
        yield where.open()
        return
    if isinstance(where, Elsewhere):
        where.run()
    configure_logs("command", logging.ERROR)
    settings = load_settings()
    networks = shown_networks(settings)
    profiles = tuple(profile_of(network, settings) for network in networks)
    with closing(open_checked_store(settings)) as store:
        source = ApplicationContext(store, profiles, utc_now, os_user(), page_settings(settings))
        yield Installation(settings, networks, source)


def text_of(file: Path) -> str:
    """Return the text of a file, or of standard input if it is called -; InputError."""
    if str(file) == STANDARD_INPUT:
        return standard_input()
    return read_by_command(str(file), partial(_text_of, file))


def _text_of(file: Path) -> str:
    try:
        return read_text(file)
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: save it as UTF-8 ({error.reason})") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error


def standard_input(most: int = LONGEST_PASTE) -> str:
    """Read standard input to its end; invalid bytes become replacement characters.

    InputError as `octets_of`.
    """
    return read_by_command(STANDARD_INPUT, partial(_standard_input, most))


def _standard_input(most: int) -> str:
    octets = octets_of(sys.stdin.buffer, most)
    try:
        return read_spreadsheet(octets)
    except InputError:
        return octets.decode("utf-8", errors="replace")


def octets_of(file: BinaryIO, most: int) -> bytes:
    """Read a text of at most so many characters; InputError for more, whose rest stays unread."""
    octets = file.read(most * _LONGEST_CHARACTER + 1)
    if len(octets) > most * _LONGEST_CHARACTER:
        raise InputError(
            f"the text has more than {most:,} characters: give at most {most:,} at once"
        )
    return octets
