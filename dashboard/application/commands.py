"""Commands that a program sends from another machine, and the one who runs them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from dashboard.application.application import Application
from dashboard.domain.people.access import Actor


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """The words after `linewatch`, and the texts that the command reads, by name of the file."""

    arguments: tuple[str, ...]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CommandResult:
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
        """Run a command as `by`; `admit` raises NotAllowed for a subject that is not open to them.

        StoreError: the store cannot be used now.
        """


_registered: list[RunCommand] = []


def register_commands(run: RunCommand) -> None:
    """Let commands of other machines run here."""
    _registered[:] = [run]


def registered_commands() -> RunCommand | None:
    """Return what was registered; None where commands of other machines do not run."""
    return _registered[0] if _registered else None
