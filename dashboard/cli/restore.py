"""`linewatch restore`, `release` and `move`: commands that put another store in place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from dashboard.cli import options
from dashboard.cli.output import answer
from dashboard.cli.store import settings_of_command
from dashboard.domain.formatting import counted
from dashboard.errors import InputError
from dashboard.wiring.maintenance import (
    count_held,
    move_store,
    release_held,
    restore_store,
)

_FROM_VARIABLE: Final = "env:"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--force",
    is_flag=True,
    help="Become the installation of the backup, if it is of another; restore also where the "
    "store says that it was moved away.",
)
@options.as_json
def restore(*, file: Path, force: bool, as_json: bool) -> None:
    """Replace the store by the backup FILE; stop all of Linewatch first.

    The backup is verified first and brought to this version's schema. The store that was there is
    put aside, never deleted. Nobody is notified by that: what the backup holds as pending, and
    what turns out to have happened before the restore, is held until `linewatch release`.
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
    """Send the notifications that a restore holds, all of them.

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
    help="An empty database; env:NAME reads the variable NAME, so that no list shows a password.",
)
@options.as_json
def move(*, target: str, as_json: bool) -> None:
    """Move the store to another database; stop all of Linewatch first.

    All rows are copied and compared. The store that they come from stays as it is, except for a
    mark that keeps every process from using it. If the move is killed, the same command starts it
    again.
    """
    done = move_store(settings_of_command(), _address(target))
    answer(
        {"store": done.name, "rows": {**done.rows}},
        f"{done.name} holds all {sum(done.rows.values()):,} rows; they were compared.",
        "Set store.url, or LINEWATCH_STORE_URL, to its address on every machine, then start again.",
        as_json=as_json,
    )


def _address(text: str) -> str:
    if not text.startswith(_FROM_VARIABLE):
        return text
    name = text.removeprefix(_FROM_VARIABLE)
    try:
        return os.environ[name]
    except KeyError:
        raise InputError(f"--to {text}: the variable {name} is not set") from None
