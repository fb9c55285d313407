"""A restore drill: all of a large store into a backup, and out of it into a new store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dashboard.domain.people.access import Actor
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.restore import restore
from tests.bench.processes import cores, pin_to
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number
from tests.bench.tracked_store import Taken, taken_by
from tests.postgresql import empty_database, server_address

LONGEST: Final = 60.0
"""Seconds that the promise leaves for a million rejections."""


def run(scene: Scene) -> Result:
    """Back the archive up, restore it into either database, and back up what is in PostgreSQL."""
    many = scene.stored
    archive = f"sqlite:///{scene.archive.file}"
    with TemporaryDirectory(dir=scene.folder) as name, _postgresql() as server:
        folder = Path(name)
        file = folder / "backup.sqlite"
        restored = partial(restore, path=file, by=Actor("bench", datetime.now(UTC)), folder=folder)
        taken = {
            "SQLite backed up": taken_by(lambda: _back_up(archive, file)),
            "SQLite restored": taken_by(lambda: restored(f"sqlite:///{folder}/restored.sqlite")),
            "PostgreSQL restored": taken_by(lambda: restored(server)),
            "PostgreSQL backed up": taken_by(lambda: _back_up(server, folder / "again.sqlite")),
        }
    return Result(
        title=f"Backing up and restoring {many:,} rejections with their transactions",
        promises=[
            Promise("F15", what, LONGEST, each.wall, "s", is_floor=False)
            for what, each in taken.items()
        ],
        heads=("what", "seconds", "CPU seconds here", "rejections per second"),
        lines=[_line(what, each, many) for what, each in taken.items()],
        remarks=[
            "Each copy is verified; a copy in another kind of database is compared row by row."
        ],
    )


def _back_up(url: str, file: Path) -> None:
    with open_store(url) as store:
        back_up(store, file)


@contextmanager
def _postgresql() -> Iterator[str]:
    """Start a server of our own on the core of servers, and yield the address of a database."""
    server, own = cores()
    os.sched_setaffinity(0, {server})
    server_address()
    pin_to(own)
    with empty_database() as address:
        yield address


def _line(what: str, taken: Taken, many: int) -> list[str]:
    return [what, number(taken.wall), number(taken.cpu), number(many / taken.wall)]
