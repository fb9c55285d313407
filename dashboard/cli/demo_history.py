"""`linewatch demo-history`: a simulated year, to try the pages on."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import click

from dashboard.cli.output import say, warn
from dashboard.devnet.history import YEAR
from dashboard.settings import load_settings
from dashboard.wiring.demo_history import fill_with_history


@click.command(name="demo-history")
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path),
    help="State folder to fill, in place of LINEWATCH_HOME; to be named if it holds real data.",
)
@click.option(
    "--days",
    type=click.IntRange(1, YEAR.days),
    default=YEAR.days,
    show_default=True,
    help="How long the history is.",
)
def demo_history(folder: Path | None, days: int) -> None:
    """Fill a store with a simulated year.

    Fees and rejections of the devnet, marked as simulated, end where its own begin. Nothing is
    tracked and nobody is told. Doing it again adds only what is new.
    """
    length = timedelta(days=days)
    named = {} if folder is None else {"LINEWATCH_HOME": str(folder)}
    settings = load_settings({**os.environ, **named})
    say(f"Making {days} days of simulated history; a year takes about half a minute.")
    filled = fill_with_history(settings, length, is_store_named=folder is not None)
    say(f"{filled.store} now holds {filled.observations:,} simulated observations of fees")
    say(f"and {filled.rejections:,} new simulated rejections.")
    kept = settings.store.keep_fees.length
    if kept is not None and kept < length:
        warn(
            f"a worker forgets fees older than {kept // timedelta(days=1)} days: "
            "set LINEWATCH_STORE_KEEP_FEES=400d to keep them"
        )
