"""Commands that a program sends from another machine, and what runs them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from dashboard.application.application import Application
from dashboard.domain.people.access import Actor


class CommandRequest(Struct, frozen=True):
    """The arguments after `linewatch`, and the texts of the files that the command reads."""

    arguments: tuple[str, ...]
    files: Mapping[str, str]


class CommandResult(Struct, frozen=True):
    status: int
    output: str
    errors: str


class RunCommand(Protocol):
    def __call__(
        self,
        request: CommandRequest,
        application: Application,
        by: Actor,
        admit: Callable[[str], None],
    ) -> CommandResult:
        """Run a command as `by`; `admit` raises NotAllowed for a subject that they may not use.

        StoreError if the store cannot be used now.
        """


_registered: list[RunCommand] = []


def register_commands(run: RunCommand) -> None:
    """Let other machines run commands here."""
    _registered[:] = [run]


def registered_commands() -> RunCommand | None:
    """Return what was registered; None if other machines cannot run commands here."""
    return _registered[0] if _registered else None
