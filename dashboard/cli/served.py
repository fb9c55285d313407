"""Runs commands of programs elsewhere in the pages' process, each with the rights of its token."""

from __future__ import annotations

from collections.abc import Callable

import click
from msgspec import Struct

from dashboard.application.application import (
    Application,
    CommandRequest,
    CommandResult,
    register_commands,
)
from dashboard.cli.installation import Served, ServedInstallation
from dashboard.cli.main import linewatch
from dashboard.cli.output import FAILED, told
from dashboard.domain.people.access import Actor
from dashboard.errors import InputError, LinewatchError, StoreError
from dashboard.settings import Settings
from dashboard.wiring.networks import Network, shown_networks


class CommandRunner(Struct, frozen=True):
    """One for the process; concurrent commands print into memory of their own."""

    settings: Settings
    networks: tuple[Network, ...]

    def __call__(
        self,
        request: CommandRequest,
        application: Application,
        by: Actor,
        admit: Callable[[str], None],
    ) -> CommandResult:
        """Run a command as `RunCommand` says; `admit` is its last argument."""
        here = ServedInstallation(
            self.settings, self.networks, application.context, by, application.look_up
        )
        served = Served(here, request.files, admit)
        status = _status(request.arguments, served)
        return CommandResult(status, served.output.getvalue(), served.errors.getvalue())


def let_commands_run(settings: Settings) -> None:
    """Allow commands of programs elsewhere to run in this process."""
    register_commands(CommandRunner(settings, shown_networks(settings)))


def _status(arguments: tuple[str, ...], served: Served) -> int:
    """Run a command and return its status; options of `linewatch` itself are refused."""
    with click.Context(linewatch, obj=served):
        try:
            if arguments[0] not in linewatch.lazy:
                raise InputError("the first word is not a command: see `linewatch --help`")
            ended = linewatch.main(
                list(arguments),
                "linewatch",
                standalone_mode=False,
                obj=served,
                help_option_names=[],
            )
            return ended if isinstance(ended, int) else 0
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else FAILED
        except click.ClickException as mistake:
            mistake.show(served.errors)
            return mistake.exit_code
        except StoreError:
            raise
        except (LinewatchError, OSError) as error:
            return told(error)
