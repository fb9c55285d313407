"""`linewatch`: the command that starts everything else."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NoReturn, cast

import click

from dashboard.errors import LinewatchError


class Group(click.Group):
    """Runs its commands here, unless --server or the program that sent it names another place."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; InputError if it does not work in another place."""
        if ctx.obj is None and ctx.parent is None and ctx.params.get("server"):
            from dashboard.cli.place import Elsewhere  # noqa: PLC0415 - only with --server

            ctx.obj = Elsewhere(ctx.params["server"], args)
        name, command, rest = super().resolve_command(ctx, args)
        if ctx.obj is not None and not isinstance(command, click.Group):
            ctx.obj.refuse_local(f"{ctx.obj.path(ctx)} {name}".strip())
        return name, command, rest


class LazyGroup(Group):
    """Imports a command when it is called; its own help needs no import.

    `lazy` has the first sentence of the help of each command, `modules` the commands of a module of
    this package, separated by blanks; others have a module of their own name. A command is the
    value of its name there, with `_` for `-`.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's own
        lazy: Mapping[str, str],
        modules: Mapping[str, str],
        **attributes: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(*args, **attributes)
        self.lazy = lazy
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - named by click
        return list(self.lazy)

    def module_of(self, name: str) -> str:
        held = (module for module, names in self._modules.items() if name in names.split())
        return next(held, name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - named by click
        if cmd_name not in self.lazy:
            return None
        was_on = gc.isenabled()
        gc.disable()  # nothing that an import makes is garbage: looking for it takes a tenth longer
        try:
            held = import_module(f"dashboard.cli.{self.module_of(cmd_name)}")
        finally:
            if was_on:
                gc.enable()
        return cast("click.Command", getattr(held, cmd_name.replace("-", "_")))

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - named by click
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*self.lazy.items()])


_COMMANDS: Final = {
    "setup": "Ask what to watch and whom to notify, try each answer, and write the settings.",
    "up": "Run everything on this machine; without configuration, on a simulated chain.",
    "worker": "Poll the networks and send alerts; a second worker stands by.",
    "serve": "Serve the exclusion RPC and the gas API.",
    "devnet": "Run the embedded simulated chain.",
    "pages": "Serve the pages.",
    "doctor": "List what is wrong with this installation, and the remedies.",
    "ready": "Check that ROLES of this machine are ready, for health checks; status 1 if not.",
    "reload": "Make `linewatch up` reload its settings; fails if it cannot use them.",
    "migrate": "Upgrade the store's schema to this version; creates the store if there is none.",
    "join": "Join this machine's state folder to the installation of the store.",
    "backup": "Back the store up into FILE while everything runs.",
    "verify": "Verify that the store, or backup FILE, is intact; status 1 and the remedy if not.",
    "rebuild": "Recompute derived data that is wrong: counters, cohorts and roll-ups of fees.",
    "restore": "Replace the store with the backup FILE; stop all of Linewatch first.",
    "release": "Send all notifications that a restore holds.",
    "move": "Move the store to another database; stop all of Linewatch first.",
    "lookup": "Say what happened to transactions.",
    "answers": "Show and change the templates of the texts for customers and engineers.",
    "track": "Watch transactions for rejections.",
    "senders": "Watch every rejection of an address that nodes report to our own serve.",
    "rejections": "List the stored rejections.",
    "fees": "Show the current fees of the networks, or with --since the base fee over time.",
    "alerts": "List present conditions and notifications, or act on incidents by a command below.",
    "resend": "Send the dead notification NOTIFICATION_ID again, or all to an address.",
    "rules": "Define which changes people are notified of, who gets them and how urgent they are.",
    "recipients": "List who gets messages, verify addresses, turn them off or on, set hours.",
    "silences": "Silence known changes, for a time and with a reason.",
    "maintenance": "Hold notifications during planned work: people get one summary when it ends.",
    "keys": "Create, limit, rotate and revoke the API keys with which clients call our APIs.",
    "people": "Invite people to sign in to the pages, give them roles, and end their sessions.",
    "shares": "Share the outcome of one transaction by a link, list the links, and revoke one.",
    "tokens": "Create, list and revoke the tokens with which programs use the management API.",
    "audit": "List who changed people, keys, rules, transactions or the store, and from where.",
    "export": "Write all stored data of one kind to a file.",
    "store": "Measure the store: how large it is, how much it grows a day, when its disk is full.",
    "demo-history": "Fill a store with a simulated year.",
    "config": "Check the configuration, show and try it, and import or export what people made.",
}
"""The first sentence of the help of every command, in the order of the help."""

_MODULES: Final = {
    "run": "up worker serve devnet pages",
    "ready": "reload",
    "store": "migrate join backup verify rebuild restore release move demo-history",
    "lookup": "answers shares",
    "track": "senders",
    "alerts": "resend",
    "silences": "maintenance",
}
"""The commands of a module, besides that of its own name."""

_ROLES: Final = frozenset(_MODULES["run"].split())


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="linewatch")
@click.option(
    "--server",
    envvar="LINEWATCH_SERVER",
    metavar="URL",
    help="Run the command at the installation that serves its pages at URL. The token comes from "
    "LINEWATCH_TOKEN or the keyring.",
)
def linewatch(*, server: str | None) -> None:
    """Watch how busy EVM networks are and which transactions they reject, and notify people.

    Settings come from config/default.toml, then linewatch.toml in LINEWATCH_HOME (or the file that
    LINEWATCH_CONFIG names), then variables such as LINEWATCH_PAGES_PORT.
    """


def main() -> None:
    """Run the command; an error that an operator can correct is one line on standard error.

    The status is 2 for a person's mistake, 1 for a failure such as a full disk. A role that is
    asked to stop while it still starts ends with 0.
    """
    _open_closed_streams()
    if _ROLES.intersection(sys.argv[1:2]):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)  # until the event loop of the role takes them
    for stream in (sys.stdout, sys.stderr):
        # A terminal without our signs shows codes in their place instead of ending the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        linewatch()
    except (LinewatchError, OSError) as error:
        from dashboard.cli.output import fail  # noqa: PLC0415 - not for a help

        fail(error)


def _open_closed_streams() -> None:
    """Open streams that were closed, as by `<&-`: a socket would get the number of the first."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - a device, for as long as the process lives
            setattr(sys, name, nowhere)


def _end(*_: object) -> NoReturn:
    """End at once: nothing is held yet, and an exception may come where nobody passes it on."""
    os._exit(0)


if __name__ == "__main__":
    main()
