"""`linewatch export`: what is stored, in a file for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

import click

from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import say
from dashboard.domain.formatting import counted
from dashboard.errors import InputError, StoreUnavailable
from dashboard.store.maintenance.export import ExportKind, ExportRequest
from dashboard.store.maintenance.export import export as exported
from dashboard.store.maintenance.export_files import (
    Column,
    Field,
    write_csv_rows,
    write_parquet_rows,
)
from dashboard.store.maintenance.temporary_files import is_of_database, unfinished_beside

_STANDARD_OUTPUT: Final = "-"
_DATABASE: Final = b"SQLite format 3\0"
"""What every file of SQLite begins with (https://www.sqlite.org/fileformat.html, 1.3)."""


class Format(StrEnum):
    """What files can be."""

    CSV = "csv"
    PARQUET = "parquet"


@click.command()
@click.argument("kind", type=click.Choice([each.value for each in ExportKind]))
@click.option(
    "--to", "target", required=True, metavar="FILE", help="Where to; - is standard output."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice([each.value for each in Format]),
    help="By default what FILE ends in, or csv.",
)
@options.network
@options.within
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def export(  # noqa: PLR0913 - one for each option
    *,
    kind: str,
    target: str,
    format_name: str | None,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    force: bool,
) -> None:
    """Write all that is stored of one kind into a file.

    Every version of a rejection with its raw reason, every fee as a whole number of wei,
    every time in UTC. The file appears when it is complete. Nothing needs to be stopped.
    """
    form = _format(target, format_name)
    if target != _STANDARD_OUTPUT:
        _refuse(Path(target), is_forced=force)
    with open_installation() as here:
        wanted = ExportRequest(ExportKind(kind), since, until, here.chosen_id(network_text))
        with here.source.store.read() as connection:
            fields, batches = exported(connection, wanted)
            if target == _STANDARD_OUTPUT:
                sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]  # a text file of this interpreter
                write_csv_rows(sys.stdout, fields, batches)
                return
            rows = _write(Path(target), form, fields, batches, is_forced=force)
    say(f"{target} holds {counted(rows, 'row')} of {kind}.")


def _format(target: str, name: str | None) -> Format:
    if name is not None:
        form = Format(name)
    else:
        form = Format.PARQUET if target.endswith(".parquet") else Format.CSV
    if target == _STANDARD_OUTPUT and form is Format.PARQUET:
        raise InputError("Parquet cannot be streamed: name a file with --to, or use --format csv")
    return form


def _refuse(path: Path, *, is_forced: bool) -> None:
    """Raise InputError where the file cannot be made, before anything is read."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist: make it, or choose another")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no plain file: name one, or - for standard output")
    if is_of_database(path):
        raise InputError(f"{path} belongs to the database beside it: choose another name")
    if path.exists() and not is_forced:
        raise InputError(f"{path} exists already: choose another name, or replace it with --force")
    if _is_database(path):
        raise InputError(f"{path} is a database, perhaps the store itself: choose another name")


def _is_database(path: Path) -> bool:
    """Read its head before the store is open: closing a file releases all locks on it (POSIX)."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


def _write(
    path: Path,
    form: Format,
    fields: Sequence[Field],
    batches: Iterable[Sequence[Column]],
    *,
    is_forced: bool,
) -> int:
    with _appearing(path, is_forced=is_forced) as unfinished:
        if form is Format.PARQUET:
            return write_parquet_rows(unfinished, fields, batches)
        with unfinished.open("x", encoding="utf-8", newline="") as file:
            return write_csv_rows(file, fields, batches)


@contextmanager
def _appearing(path: Path, *, is_forced: bool) -> Iterator[Path]:
    """Yield a name beside `path`; what was written there takes its name when it is on disk."""
    try:
        with unfinished_beside(path, "part") as unfinished:
            yield unfinished
            with unfinished.open("rb") as file:
                os.fsync(file.fileno())
            if not is_forced:
                _refuse(path, is_forced=False)
            unfinished.replace(path)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror or error}): check that its disk has room "
            "and that this user may write there"
        ) from error
