"""`linewatch demo-history`: a simulated year, to try the pages on."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import click

from dashboard.cli.output import say
from dashboard.devnet.demo_fee_history import YEAR
from dashboard.devnet.networks import SIMULATED
from dashboard.settings import load_settings
from dashboard.wiring.demo_history import fill_with_history

_MOST_YEARS = 10


@click.command(name="demo-history")
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path),
    help="State folder to fill instead of LINEWATCH_HOME; needed where that holds real data.",
)
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_YEARS * YEAR.days),
    default=YEAR.days,
    show_default=True,
    help="How long the history is.",
)
@click.option(
    "--networks",
    type=click.IntRange(1, len(SIMULATED)),
    help="How many simulated networks have one, instead of the setting devnet.networks.",
)
def demo_history(folder: Path | None, days: int, networks: int | None) -> None:
    """Fill a store with a simulated year.

    Fees and rejections of the devnet, marked as simulated, end where its own begin. Two more
    networks without a chain can have one as well: a calm one that was not always watched, and
    one whose base fee never moves. Nothing is tracked and nobody is notified. The same command
    again adds only what is new.
    """
    named = {} if folder is None else {"LINEWATCH_HOME": str(folder)}
    if networks is not None:
        named["LINEWATCH_DEVNET_NETWORKS"] = str(networks)
    settings = load_settings({**os.environ, **named})
    say(f"Making {days} days of simulated history; a year takes half a minute per network.")
    filled = fill_with_history(settings, timedelta(days=days), is_store_named=folder is not None)
    titles = ", ".join(each.title for each in filled.networks)
    say(f"{filled.store} now holds the simulated past of {titles}:")
    say(f"{filled.fees:,} fees, and {filled.rejections:,} new simulated rejections.")
    variables = " ".join(f"{name}={value}" for name, value in named.items())
    say(
        f"Look at it with: {variables} linewatch up"
        if variables
        else "Look at it with: linewatch up"
    )
