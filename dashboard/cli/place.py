"""Where a command runs: on this machine, or at an installation elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn, TextIO

import click

from dashboard.domain.markup import visible
from dashboard.errors import InputError

STANDARD_INPUT: Final = "-"
"""The name of standard input among the files of a command."""

_ITS_SELF: Final = "it is about that machine itself"
_ITS_STORE: Final = "it works on the files of the store"
_ITS_PROCESSES: Final = "it starts processes"
_ITS_SETTINGS: Final = "it reads the settings there, which GET /api/v1/settings shows"

LOCAL: Final[Mapping[str, str]] = {
    **dict.fromkeys(("up", "worker", "serve", "devnet", "pages"), _ITS_PROCESSES),
    **dict.fromkeys(("migrate", "join", "backup", "verify", "rebuild"), _ITS_STORE),
    **dict.fromkeys(("restore", "release", "move", "demo-history"), _ITS_STORE),
    "export": "it writes a file there, of any size: download it from the pages",
    "alerts rehearse": "it plays in a folder there",
    **dict.fromkeys(("config check", "config show", "config try"), _ITS_SETTINGS),
}
"""Why commands run only on the machine of the installation; so does each without a subject."""

SUBJECTS: Final[Mapping[str, str]] = {
    "lookup": "lookups",
    "answers": "answers",
    "track": "tracked",
    "senders": "senders",
    "senders rank": "rejections",
    "rejections": "rejections",
    "fees": "networks",
    "alerts": "notifications incidents recipients",
    **dict.fromkeys(
        (
            "alerts incidents",
            "alerts acknowledge",
            "alerts unacknowledge",
            "alerts hand-over",
            "alerts resolve",
        ),
        "incidents",
    ),
    "alerts test-send": "recipients",
    "resend": "notifications",
    "rules": "rules",
    "rules preview": "rules incidents",
    "recipients": "recipients",
    "silences": "silences",
    "silences preview": "silences incidents",
    "maintenance": "maintenance-windows",
    "keys": "keys",
    "people": "people",
    "people sessions": "sessions",
    "people sign-out": "sessions",
    "shares": "shares",
    "tokens": "tokens",
    "audit": "audit",
    "store": "settings",
    "config plan": "settings",
    "config set": "settings",
    "config export": "configuration",
    "config import": "configuration",
}
"""What a command shows or changes, as the management API names it, separated by blanks. A group
stands for the rest of its commands."""


def subjects_of(path: str) -> list[str]:
    """Return the subjects of a command; InputError if it only runs on its own machine."""
    reason, subjects = _of_command(LOCAL, path), _of_command(SUBJECTS, path)
    if reason is not None or subjects is None:
        raise InputError(
            f"`linewatch {path}` runs on the machine of the installation only, since "
            f"{reason or _ITS_SELF}"
        )
    return subjects.split()


def _of_command(table: Mapping[str, str], path: str) -> str | None:
    """Return the entry of a table for a command, or for its group."""
    return table.get(path) or table.get(path.partition(" ")[0])


class Place:
    """A place other than this machine; the context of click holds it for one command."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def refuse_local(self, path: str) -> None:
        """Raise InputError for a command that only runs on the machine of the installation."""
        subjects_of(path)

    @staticmethod
    def path(context: click.Context) -> str:
        """Return the words of a command after `linewatch`."""
        words = []
        found = context
        while found.parent is not None:
            words.append(found.info_name or "")
            found = found.parent
        return " ".join(reversed(words))

    def read(self, name: str, read: Callable[[], str]) -> str:
        """Return the text of a file, which `read` reads on the machine of the person."""
        self.files[name] = text = read()
        return text

    def make_room(self, size: int) -> None:
        """Raise InputError if so many characters are too many to print here."""

    def stream(self, *, err: bool) -> TextIO | None:  # noqa: ARG002 - used elsewhere
        """Return where to print; None for this process."""
        return None

    def waits_for_input(self) -> bool:
        """Whether a person would have to type what a command reads."""
        return sys.stdin.isatty()


class Elsewhere(Place):
    """An installation at an address; files that a command read here are sent with it."""

    def __init__(self, address: str, arguments: Sequence[str]) -> None:
        super().__init__({})
        self._address = address
        self._arguments = tuple(arguments)

    def run(self) -> NoReturn:
        """Run the command there, print its output, and end with its status."""
        from dashboard.wiring.remote import run_at  # noqa: PLC0415 - only with --server

        done = run_at(self._address, self._arguments, self.files)
        click.echo(_shown(done.output), nl=False)
        click.echo(_shown(done.errors), nl=False, err=True)
        sys.exit(done.status)


def place() -> Place | None:
    """Return where the command of this thread runs; None for this machine."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_object(Place)


def read_by_command(name: str, read: Callable[[], str]) -> str:
    """Return the text of this name that was sent with the command, or else what `read` returns."""
    here = place()
    return read() if here is None else here.read(name, read)


def waits_for_input() -> bool:
    """Whether a person would have to type what a command reads from standard input."""
    here = place()
    return sys.stdin.isatty() if here is None else here.waits_for_input()


def _shown(text: str) -> str:
    """Return lines of text without characters that steer the terminal."""
    return "\n".join(map(_shown_line, text.split("\n")))


def _shown_line(line: str) -> str:
    ending = "\r" if line.endswith("\r") else ""
    parts = line.removesuffix("\r").split("\t")
    return "\t".join(visible(each, len(each)) for each in parts) + ending
