"""`linewatch`: the command that starts everything else."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NoReturn, cast

import click

from dashboard.cli.output import FAILED, WRONG_INPUT, warn
from dashboard.errors import InputError, LinewatchError


class LazyGroup(click.Group):
    """Finds its commands in `modules`: each command by the module of this package that holds it.

    A command is the module's value of the same name, with `_` for `-`, or what follows a colon.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **attributes: Any) -> None:  # noqa: ANN401 - click's own
        """Import nothing yet."""
        super().__init__(*args, **attributes)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - named by click
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - named by click
        if cmd_name not in self._modules:
            return None
        module, _, name = self._modules[cmd_name].partition(":")
        held = import_module(f"dashboard.cli.{module}")
        return cast("click.Command", getattr(held, name or cmd_name.replace("-", "_")))


_COMMANDS: Final = {
    "up": "run",
    "worker": "run",
    "serve": "run",
    "devnet": "run",
    "pages": "run",
    "doctor": "doctor",
    "migrate": "store",
    "join": "store",
    "backup": "store",
    "verify": "store",
    "rebuild": "store",
    "restore": "restore",
    "release": "restore",
    "move": "restore",
    "lookup": "lookup",
    "answers": "answers",
    "track": "track",
    "senders": "senders",
    "rejections": "rejections",
    "fees": "fees",
    "alerts": "alerts",
    "resend": "alerts",
    "rules": "rules",
    "recipients": "recipients",
    "silences": "silences",
    "maintenance": "silences",
    "keys": "keys",
    "audit": "audit",
    "export": "export",
    "store": "store",
    "demo-history": "store",
    "config": "config",
}
"""Every command, in the order of the help, with the module of this package that holds it."""

_ROLES: Final = frozenset(name for name, module in _COMMANDS.items() if module == "run")


@click.group(
    cls=LazyGroup, modules=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="linewatch")
def linewatch() -> None:
    """Watch how busy EVM networks are and which transactions they reject, and notify people.

    Settings come from config/default.toml, then linewatch.toml in LINEWATCH_HOME (or the file
    that LINEWATCH_CONFIG names), then variables such as LINEWATCH_PAGES_PORT.
    """


def main() -> None:
    """Run the command; what an operator can correct is one line on standard error.

    The status is 2 for a person's mistake, 1 for what failed, such as a disk that is full. A role
    that is asked to stop while it still starts has ended well.
    """
    if _ROLES.intersection(sys.argv[1:2]):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)  # until the event loop of the role takes them
    for stream in (sys.stdout, sys.stderr):
        # A terminal without our signs shows codes in their place instead of ending the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        linewatch()
    except LinewatchError as error:
        warn(str(error))
        sys.exit(WRONG_INPUT if isinstance(error, InputError) else FAILED)
    except OSError as error:
        _drop_output()
        warn(f"cannot go on: {error}")
        sys.exit(FAILED)


def _end(*_: object) -> NoReturn:
    sys.exit(0)


def _drop_output() -> None:
    """Discard what was not written, or the interpreter tries once more and complains."""
    if isinstance(sys.stdout, TextIOWrapper):
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device, not a file
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    main()
