"""`linewatch`: the command that starts everything else."""

from __future__ import annotations

import sys

import click

from dashboard.cli.run import devnet, pages, serve, up, worker
from dashboard.cli.store import migrate
from dashboard.errors import InputError, LinewatchError

WRONG_INPUT = 2
FAILED = 1


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="linewatch")
def linewatch() -> None:
    """Watch how busy EVM networks are and which transactions they reject, and tell people.

    Settings come from config/default.toml, then linewatch.toml in LINEWATCH_HOME (or the file
    that LINEWATCH_CONFIG names), then variables such as LINEWATCH_PAGES_PORT.
    """


for command in (up, worker, serve, devnet, pages, migrate):
    linewatch.add_command(command)


def main() -> None:
    """Run the command; a person's mistake is one line on standard error and status 2."""
    try:
        linewatch()
    except LinewatchError as error:
        click.echo(f"linewatch: {error}", err=True)
        sys.exit(WRONG_INPUT if isinstance(error, InputError) else FAILED)


if __name__ == "__main__":
    main()
