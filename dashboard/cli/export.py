"""`linewatch export`: stored data in a file for other programs."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from dashboard.application.exports import (
    KINDS,
    Format,
    export_file,
    export_request,
    export_text,
    refuse_target,
)
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import say
from dashboard.domain.formatting import counted
from dashboard.errors import InputError

_STANDARD_OUTPUT: Final = "-"


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option(
    "--to", "target", required=True, metavar="FILE", help="Output file; - is standard output."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice([each.value for each in Format]),
    help="Default: the ending of FILE, or csv.",
)
@options.network
@options.within
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def export(
    *,
    kind: str,
    target: str,
    format_name: str | None,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    force: bool,
) -> None:
    """Write all stored data of one kind to a file.

    Every version of a rejection with its raw reason, every fee as a whole number of wei, every time
    in UTC. The file appears when it is complete. Nothing needs to be stopped.
    """
    form = _format(target, format_name)
    if target != _STANDARD_OUTPUT:
        refuse_target(Path(target), replaces=force)
    with open_installation() as here:
        wanted = export_request(kind, since, until, here.chosen_id(network_text))
        if target == _STANDARD_OUTPUT:
            sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]  # a text file of this interpreter
            export_text(here.source, wanted, sys.stdout)
            return
        rows = export_file(here.source, wanted, Path(target), form, replaces=force)
    say(f"{target} holds {counted(rows, 'row')} of {kind}.")


def _format(target: str, name: str | None) -> Format:
    if name is not None:
        form = Format(name)
    else:
        form = Format.PARQUET if target.endswith(".parquet") else Format.CSV
    if target == _STANDARD_OUTPUT and form is Format.PARQUET:
        raise InputError("Parquet cannot be streamed: name a file with --to, or use --format csv")
    return form
