"""Commands about the store as a whole: migrate, back up, verify, rebuild, restore, and move."""

from __future__ import annotations

import logging
import os
import sys
from datetime import timedelta
from pathlib import Path

import click

from dashboard.application.health import measure_store, size_form, size_sentences
from dashboard.application.listing import Json
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import FAILED, answer, print_json, print_table, say, warn
from dashboard.devnet.demo import YEAR
from dashboard.devnet.genesis import SIMULATED
from dashboard.domain.formatting import counted
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError
from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.settings.values import parse_secret
from dashboard.wiring.devnet import fill_with_history
from dashboard.wiring.maintenance import (
    back_up_store,
    count_held,
    join_installation,
    move_store,
    rebuild_store,
    release_held,
    restore_store,
    verify_store,
)
from dashboard.wiring.store import migrate_store

_FILE = click.Path(path_type=Path)


@click.command()
@click.option(
    "--no-backup",
    is_flag=True,
    help="Upgrade a SQLite file without a copy of it beside it, whatever the settings say.",
)
def migrate(*, no_backup: bool) -> None:
    """Upgrade the store's schema to this version; creates the store if there is none."""
    done = migrate_store(settings_of_command(), copies_first=False if no_backup else None)
    if done.copy is not None:
        say(f"The store as it was before is in {done.copy}.")
    say(f"The store has schema {done.schema}.")


@click.command()
@click.option("--force", is_flag=True, help="Leave the installation that it belongs to.")
def join(*, force: bool) -> None:
    """Join this machine's state folder to the installation of the store.

    For each further machine on one PostgreSQL database, and for a SQLite file outside of
    LINEWATCH_HOME.
    """
    settings = settings_of_command()
    found = join_installation(settings, leaves_another=force)
    say(f"{settings.home} belongs to the installation {found}.")


@click.command()
@click.argument("file", type=_FILE)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="FILE is a folder: name the backup by its time, and delete all but the last N there.",
)
@options.as_json
def backup(*, file: Path, force: bool, keep: int | None, as_json: bool) -> None:
    """Back the store up into FILE while everything runs.

    The copy is one SQLite file, verified, even if the store is in PostgreSQL.
    """
    made = back_up_store(settings_of_command(), file, keep=keep, overwrites=force)
    if made.audit_failure:
        warn(f"the audit log does not name this backup. {made.audit_failure}")
    deleted: list[Json] = [str(each) for each in made.deleted]
    answer(
        {"file": str(made.path), "bytes": made.size, "rows": {**made.rows}, "deleted": deleted},
        f"{made.path} holds {sum(made.rows.values()):,} rows in {made.size:,} bytes, verified.",
        *(f"{each} is deleted." for each in made.deleted),
        as_json=as_json,
    )


@click.command()
@click.argument("file", type=_FILE, required=False)
@options.as_json
def verify(*, file: Path | None, as_json: bool) -> None:
    """Verify that the store, or backup FILE, is intact; status 1 and the remedy if not.

    It checks pages and indexes, the form of each value, references between rows, that nothing
    pending is lost, derived data against its sources, and every rejection against the digest that
    it was saved with. Nothing is changed, and nothing needs to be stopped.
    """
    found = verify_store(settings_of_command(), file, report=_progress)
    if as_json:
        trouble: list[Json] = [
            {"what": each.what, "remedy": each.remedy, "isRebuildable": each.is_rebuildable}
            for each in found.findings
        ]
        print_json(
            {
                "store": found.name,
                "isWhole": not trouble,
                "findings": trouble,
                "rows": {**found.rows},
            }
        )
        sys.exit(FAILED if trouble else 0)
    if found.findings:
        for each in found.findings:
            warn(f"{found.name}: {each.what}: {each.remedy}")
        sys.exit(FAILED)
    say(f"{found.name} is whole.")
    rows = [(name, f"{many:,}") for name, many in found.rows.items() if many]
    print_table(("TABLE", "ROWS"), rows)


@click.command()
@options.as_json
def rebuild(*, as_json: bool) -> None:
    """Recompute derived data that is wrong: counters, cohorts and roll-ups of fees.

    Nothing needs to be stopped; a command that was killed leaves each of them as it was or rebuilt.
    Roll-ups of values that were purged stay as they are: `linewatch verify` says what is wrong with
    them.
    """
    done = rebuild_store(settings_of_command(), report=_progress)
    lines = [f"The {name} were wrong and were rebuilt." for name in done.names]
    if done.left:
        lines.append(f"{done.left:,} that are wrong stay as they are: `linewatch verify` says why.")
    nothing = () if done.names else ("All derived data is correct.",)
    form: Json = {"rebuilt": [*done.names], "left": done.left}
    answer(form, *nothing, *lines, as_json=as_json)


def _progress(what: str) -> None:
    """Say what is checked next, if a person waits at a terminal."""
    if sys.stderr.isatty():
        click.echo(f"Looking at {what} …", err=True)


def settings_of_command() -> Settings:
    """Load the settings for a command, which logs nothing but errors."""
    configure_logs("command", logging.ERROR)
    return load_settings()


@click.command()
@options.as_json
def store(*, as_json: bool) -> None:
    """Measure the store: how large it is, how much it grows a day, when its disk is full."""
    with open_installation() as here:
        measured = measure_store(here.source)
    answer(size_form(measured), *size_sentences(measured), as_json=as_json)


_MOST_YEARS = 10


@click.command(name="demo-history")
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path),
    help="State folder to fill instead of LINEWATCH_HOME; needed if that holds real data.",
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
    networks without a chain can have one as well: a calm one that was not always watched, and one
    whose base fee never moves. Nothing is tracked and nobody is notified. Running it again only
    adds what is new.
    """
    named = {} if folder is None else {"LINEWATCH_HOME": str(folder)}
    if networks is not None:
        named["LINEWATCH_DEVNET_NETWORKS"] = str(networks)
    settings = load_settings({**os.environ, **named})
    length = counted(days, "day")
    say(f"Making {length} of simulated history; a year takes half a minute per network.")
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


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--force",
    is_flag=True,
    help="Restore even if the backup is of another installation, which this one becomes, or the "
    "store was moved away.",
)
@options.as_json
def restore(*, file: Path, force: bool, as_json: bool) -> None:
    """Replace the store with the backup FILE; stop all of Linewatch first.

    The backup is verified first and upgraded to this version's schema. The former store is set
    aside, never deleted. Nobody is notified by that: notifications that are pending in the backup,
    and changes from before the restore that show up later, are held until `linewatch release`.
    """
    done = restore_store(settings_of_command(), file, is_forced=force)
    many = sum(done.rows.values())
    held = counted(done.held, "pending notification is", "pending notifications are")
    before = [] if done.aside is None else [f"The store that was there before is {done.aside}."]
    answer(
        {
            "installation": str(done.installation_id),
            "rows": {**done.rows},
            "held": done.held,
            "aside": done.aside,
            "rebuilt": [*done.rebuilt],
        },
        f"The store holds {many:,} rows of {file}, verified, and a new one in the audit log.",
        *before,
        *(f"The {name} were wrong in the backup and were rebuilt." for name in done.rebuilt),
        f"{held} held: `linewatch release` sends them.",
        as_json=as_json,
    )


@click.command()
@click.option("--drop", is_flag=True, help="Mark them dead instead; they stay on record.")
@click.option("--count", "counts", is_flag=True, help="Only count them.")
@options.as_json
def release(*, drop: bool, counts: bool, as_json: bool) -> None:
    """Send all notifications that a restore holds.

    `linewatch alerts --state held` lists them. Some may have been sent before the restore by the
    store that was replaced.
    """
    settings = settings_of_command()
    many = count_held(settings) if counts else release_held(settings, drops=drop)
    became = "held" if counts else "dead" if drop else "pending again"
    said = f"{counted(many, 'notification is', 'notifications are')} {became}."
    answer({"notifications": many}, said, as_json=as_json)


@click.command()
@click.option(
    "--to",
    "target",
    metavar="URL",
    required=True,
    help="An empty database; env:NAME or file:/path, so that no list shows its password.",
)
@options.as_json
def move(*, target: str, as_json: bool) -> None:
    """Move the store to another database; stop all of Linewatch first.

    All rows are copied and compared. The old store stays as it is, except for a mark that keeps
    every process from using it. If the move is killed, the same command starts it again.
    """
    done = move_store(settings_of_command(), database_address(target))
    answer(
        {"store": done.name, "rows": {**done.rows}},
        f"{done.name} holds all {sum(done.rows.values()):,} rows; they were compared.",
        "Set store.url, or LINEWATCH_STORE_URL, to its address on every machine, then start again.",
        as_json=as_json,
    )


def database_address(text: str) -> str:
    """Return the address, or what a variable or a file holds; InputError says what is wrong."""
    try:
        return parse_secret(text, os.environ).reveal()
    except ValueError as error:
        raise InputError(f"--to {shorten(text)} cannot be used: {error}") from None
