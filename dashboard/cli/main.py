"""`linewatch`: the command that starts everything else."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NamedTuple, NoReturn, cast

import click

from dashboard.errors import LinewatchError


class LazyCommand(NamedTuple):
    """Which module of this package holds a command, and the first sentence of its help.

    The command is the module's value of the same name, with `_` for `-`.
    """

    module: str
    help: str


class Group(click.Group):
    """Runs its commands here, unless the option --server or its sender names another place."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; InputError where it does not work in another place."""
        if ctx.obj is None and ctx.parent is None and ctx.params.get("server"):
            from dashboard.cli.place import Elsewhere  # noqa: PLC0415 - only with --server

            ctx.obj = Elsewhere(ctx.params["server"], args)
        name, command, rest = super().resolve_command(ctx, args)
        if ctx.obj is not None and not isinstance(command, click.Group):
            ctx.obj.refuse_local(f"{ctx.obj.path(ctx)} {name}".strip())
        return name, command, rest


class LazyGroup(Group):
    """Imports a command when it is called; its own help says what it knows without that."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's own
        lazy: Mapping[str, LazyCommand],
        **attributes: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(*args, **attributes)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - named by click
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - named by click
        if cmd_name not in self.lazy:
            return None
        held = import_module(f"dashboard.cli.{self.lazy[cmd_name].module}")
        return cast("click.Command", getattr(held, cmd_name.replace("-", "_")))

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - named by click
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.lazy.items()])


_COMMANDS: Final = {
    "setup": LazyCommand(
        "setup",
        "Ask what to watch and who is notified, try each answer at once, and write the settings.",
    ),
    "up": LazyCommand(
        "run", "Run everything on this machine; without configuration, on a simulated chain."
    ),
    "worker": LazyCommand("run", "Poll the networks and send alerts; a second worker stands by."),
    "serve": LazyCommand("run", "Serve the exclusion RPC and the gas API."),
    "devnet": LazyCommand("run", "Run the embedded simulated chain."),
    "pages": LazyCommand("run", "Serve the pages."),
    "doctor": LazyCommand(
        "doctor", "Name what is wrong with this installation, each with its remedy."
    ),
    "ready": LazyCommand(
        "ready",
        "Say whether ROLES of this machine answer, for health checks; status 1 if one does not.",
    ),
    "reload": LazyCommand(
        "ready", "Make `linewatch up` read its settings again, and fail if it cannot take them."
    ),
    "migrate": LazyCommand(
        "store", "Bring the store's schema to this version; creates the store where there is none."
    ),
    "join": LazyCommand(
        "store", "Let this machine's state folder belong to the installation of the store."
    ),
    "backup": LazyCommand("store", "Copy the store into FILE while everything goes on."),
    "verify": LazyCommand(
        "store",
        "Verify that the store, or the backup FILE, is whole; status 1 and the remedy where not.",
    ),
    "rebuild": LazyCommand(
        "store", "Rebuild what the store derives from other data, where it is wrong."
    ),
    "restore": LazyCommand(
        "store", "Replace the store by the backup FILE; stop all of Linewatch first."
    ),
    "release": LazyCommand("store", "Send the notifications that a restore holds, all of them."),
    "move": LazyCommand(
        "store", "Move the store to another database; stop all of Linewatch first."
    ),
    "lookup": LazyCommand("lookup", "Say what happened to transactions."),
    "answers": LazyCommand(
        "lookup", "Show and change the templates of the texts for customers and engineers."
    ),
    "track": LazyCommand("track", "Watch transactions for rejections."),
    "senders": LazyCommand(
        "track", "Watch every rejection of an address that nodes report to our own serve."
    ),
    "rejections": LazyCommand("rejections", "List the rejections that are stored."),
    "fees": LazyCommand(
        "fees",
        "Show the fees of the networks: those of now, or with --since the base fee over a time.",
    ),
    "alerts": LazyCommand(
        "alerts", "List open incidents and notifications, or do what a command below says."
    ),
    "resend": LazyCommand(
        "alerts", "Send the dead notification NOTIFICATION_ID again, or all to an address."
    ),
    "rules": LazyCommand(
        "rules", "Say which changes people are notified of, who gets them and how urgent they are."
    ),
    "recipients": LazyCommand(
        "recipients",
        "See who gets messages, verify addresses, turn them off and on, say at which hours.",
    ),
    "silences": LazyCommand(
        "silences", "Notify nobody of what is known: for a time, with a reason, on record."
    ),
    "maintenance": LazyCommand(
        "silences", "Hold notifications during planned work: people get one summary when it ends."
    ),
    "keys": LazyCommand(
        "keys", "Make, limit, renew and revoke the API keys with which clients call our own APIs."
    ),
    "people": LazyCommand(
        "people", "Invite people to sign in to the pages, give them roles, and end their sessions."
    ),
    "shares": LazyCommand(
        "lookup",
        "Share what became of one transaction by a link, list the links, and revoke one.",
    ),
    "tokens": LazyCommand(
        "tokens", "Make, list and revoke the tokens with which programs use the management API."
    ),
    "audit": LazyCommand(
        "audit",
        "List who did what from where: to people, keys, rules, transactions, the store itself.",
    ),
    "export": LazyCommand("export", "Write all that is stored of one kind into a file."),
    "store": LazyCommand(
        "store",
        "Measure the store: how large it is, how much it grows a day, and when its disk is full.",
    ),
    "demo-history": LazyCommand("store", "Fill a store with a simulated year."),
    "config": LazyCommand(
        "config",
        "Check the configuration, show it, try its endpoints, and take what people made elsewhere.",
    ),
}
"""Every command, in the order of the help."""

_ROLES: Final = frozenset(name for name, command in _COMMANDS.items() if command.module == "run")


@click.group(
    cls=LazyGroup, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="linewatch")
@click.option(
    "--server",
    envvar="LINEWATCH_SERVER",
    metavar="URL",
    help="Run the command at the installation whose pages are there. The token for it comes from "
    "LINEWATCH_TOKEN or the keyring.",
)
def linewatch(*, server: str | None) -> None:
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
    except (LinewatchError, OSError) as error:
        from dashboard.cli.output import fail  # noqa: PLC0415 - not for a help

        fail(error)


def _end(*_: object) -> NoReturn:
    """End at once: nothing is held yet, and an exception may come where nobody passes it on."""
    os._exit(0)


if __name__ == "__main__":
    main()
