"""Tracking in bulk: how fast hashes come into a large store, and how much room each takes."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.migrate import migrate
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number
from tests.bench.tracked_store import FILE, Taken, answer_null, size_of, taken_by, track_many

TABLES: Final = ("cohorts", "watched_cohorts", "tracked_hashes")


def run(scene: Scene) -> Result:
    """Track as many hashes as the scene has rejections, the last tenth by the clock."""
    many = scene.stored
    now = datetime.now(UTC)
    with TemporaryDirectory(dir=scene.folder) as folder:
        url = f"sqlite:///{Path(folder) / FILE}"
        migrate(url)
        with closing(open_store(url)) as store:
            empty = size_of(store)
            before = track_many(store, range(many * 9 // 10), now)
            last = track_many(store, range(many * 9 // 10, many), now)
            again = track_many(store, range(many * 9 // 10, many), now)
            nulls = taken_by(partial(answer_null, store, now))
            each = (size_of(store) - empty) / many
            parts = _parts(store, many)
    tenth = many - many * 9 // 10
    return Result(
        title=f"Tracking {many:,} transactions",
        promises=[
            Promise("bulk", f"hashes tracked, at {many:,}", 30_000, tenth / last.cpu, "/CPU s"),
            Promise("size", "disk for each tracked hash", 130, each, "bytes", is_floor=False),
        ],
        heads=("what", "hashes", "per second", "per CPU second"),
        lines=[
            _line("tracked, the first nine tenths", many - tenth, before),
            _line("tracked, the last tenth", tenth, last),
            _line("the last tenth again: all known", tenth, again),
            _line("asked once and answered null", many, nulls),
        ],
        remarks=[f"Bytes for each hash: {parts}."],
    )


def _line(what: str, hashes: int, taken: Taken) -> list[str]:
    return [what, f"{hashes:,}", number(hashes / taken.wall), number(hashes / taken.cpu)]


def _parts(store: Store, many: int) -> str:
    """Say what each table and index takes."""
    with store.read() as connection:
        rows = connection.exec_driver_sql(
            "SELECT m.name, sum(d.pgsize) FROM sqlite_master AS m JOIN dbstat AS d "
            "ON d.name = m.name WHERE m.tbl_name IN (?, ?, ?) GROUP BY 1 ORDER BY 2 DESC",
            TABLES,
        )
        return ", ".join(f"{name} {size / many:.1f}" for name, size in rows)
