"""Exports: all that is stored of one kind, in a file for other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, TextIO

from dashboard.application.context import ApplicationContext
from dashboard.domain.quantity import NetworkId
from dashboard.errors import InputError, StoreUnavailable
from dashboard.store.engine.disk import is_of_database, unfinished_beside
from dashboard.store.maintenance.export import ExportKind, ExportRequest, export
from dashboard.store.maintenance.export_files import write_csv_rows, write_parquet_rows

KINDS: Final = tuple(each.value for each in ExportKind)
"""The kinds of data that can be exported."""

_DATABASE: Final = b"SQLite format 3\0"
"""The first bytes of every SQLite file (https://www.sqlite.org/fileformat.html, 1.3)."""


class Format(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


def export_request(
    kind: str, since: datetime | None, until: datetime | None, network_id: NetworkId | None
) -> ExportRequest:
    """Return what to export of one kind; None means no limit, and both times are included."""
    return ExportRequest(ExportKind(kind), since, until, network_id)


def export_text(context: ApplicationContext, wanted: ExportRequest, file: TextIO) -> None:
    """Write rows as CSV into an open text file."""
    with context.store.read() as connection:
        write_csv_rows(file, *export(connection, wanted))


def export_file(
    context: ApplicationContext,
    wanted: ExportRequest,
    path: Path,
    form: Format,
    *,
    replaces: bool,
) -> int:
    """Write rows into a file that appears only when it is complete; return how many.

    InputError if the file cannot be created, StoreUnavailable if it cannot be written.
    """
    with (
        context.store.read() as connection,
        _appearing(path, replaces=replaces) as unfinished,
    ):
        fields, batches = export(connection, wanted)
        if form is Format.PARQUET:
            return write_parquet_rows(unfinished, fields, batches)
        with unfinished.open("x", encoding="utf-8", newline="") as file:
            return write_csv_rows(file, fields, batches)


def refuse_target(path: Path, *, replaces: bool) -> None:
    """Raise InputError if a file cannot be created, before anything is read."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist: make it, or choose another")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a plain file: name one, or - for standard output")
    if is_of_database(path):
        raise InputError(f"{path} belongs to the database beside it: choose another name")
    if path.exists() and not replaces:
        raise InputError(f"{path} exists already: choose another name, or replace it with --force")
    if _is_database(path):
        raise InputError(f"{path} is a database, perhaps the store itself: choose another name")


def _is_database(path: Path) -> bool:
    """Check before the store is opened: closing a file releases all locks on it (POSIX)."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


@contextmanager
def _appearing(path: Path, *, replaces: bool) -> Iterator[Path]:
    """Yield a temporary path beside `path`; its file is renamed to `path` once it is on disk."""
    try:
        with unfinished_beside(path, "part") as unfinished:
            yield unfinished
            with unfinished.open("rb") as file:
                os.fsync(file.fileno())
            if not replaces:
                refuse_target(path, replaces=False)
            unfinished.replace(path)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror or error}): check that its disk has room "
            "and that this user may write there"
        ) from error
