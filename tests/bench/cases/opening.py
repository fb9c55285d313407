"""Opening a large store: from nothing in memory to the first answers of a page and of a command."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from dashboard.application.application import Application
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import REVISION, signed_transactions
from tests.bench.expected_replies import unknown_hash
from tests.bench.pages_store import CARDS
from tests.bench.processes import PROJECT
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number
from tests.bench.year_of_fees import insert_all

LONGEST: Final = 2.0
"""Seconds that the promise leaves."""

_ROW: Final = 100_000
"""Bytes of one signed transaction: those with much calldata are as long."""

_FULL: Final = 10_000_000_000
_GIGABYTE: Final = 1e9


def run(scene: Scene) -> Result:
    """Open it again and again, each time from the disk."""
    size = min(_FULL, _FULL // 1_000_000 * scene.stored)
    file = _made(scene.folder, size)
    opened, asked, looked_up = [], [], []
    with TemporaryDirectory() as home:
        variables = {"LINEWATCH_HOME": home, "LINEWATCH_STORE_URL": f"sqlite:///{file}"}
        _command(variables, "join")
        for _ in range(scene.rounds):
            _forget(file)
            begun = time.perf_counter()
            with closing(open_store(f"sqlite:///{file}")) as store:
                opened.append(time.perf_counter() - begun)
                queries = Application(store, CARDS, None, lambda: datetime.now(UTC))
                queries.network_statuses()
                queries.health.health()
                asked.append(time.perf_counter() - begun)
            _forget(file)
            begun = time.perf_counter()
            _command(variables, "lookup", str(unknown_hash(10**9)))
            looked_up.append(time.perf_counter() - begun)
    gigabytes = file.stat().st_size / _GIGABYTE
    rows = (
        ("opened", opened),
        ("first answers for Overview and Health", asked),
        ("`linewatch lookup`, the start of Python included", looked_up),
    )
    about = f"opening {gigabytes:.1f} GB, to the first answers of a page"
    return Result(
        title=f"Opening a store of {gigabytes:.1f} GB",
        promises=[Promise("opening", about, LONGEST, max(asked), "s", is_floor=False)],
        heads=("until", "median", "longest"),
        lines=[
            [what, f"{number(statistics.median(took))} s", f"{number(max(took))} s"]
            for what, took in rows
        ],
        remarks=["Before each, the file was dropped from the system's cache."],
    )


def _made(folder: Path, size: int) -> Path:
    """Return the file of a store of that size, made anew for each schema."""
    file = folder / f"large-{REVISION}-{size}" / "linewatch.sqlite"
    if not file.exists():
        for older in folder.glob("large-*"):
            shutil.rmtree(older)
        with TemporaryDirectory(dir=folder) as fresh:
            made = Path(fresh) / file.name
            migrate(f"sqlite:///{made}")
            with open_store(f"sqlite:///{made}") as store:
                for start in range(0, size // _ROW, 1000):
                    with store.write() as connection:
                        insert_all(connection, signed_transactions, _rows(start))
            file.parent.mkdir()
            made.replace(file)
    return file


def _rows(start: int) -> Iterator[dict[str, Any]]:
    for place in range(start, start + 1000):
        raw = os.urandom(_ROW)
        yield {"tx_hash": unknown_hash(place), "recipient": None, "chain_id": 1, "raw": raw}


def _forget(file: Path) -> None:
    """Let the next read come from the disk."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _command(variables: Mapping[str, str], *arguments: str) -> None:
    """Run a command to its end; one that tells nothing failed."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LINEWATCH")}
    command = [sys.executable, "-m", "dashboard.cli.main", *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, env={**kept, **variables}, capture_output=True, text=True, check=False
    )
    if not done.stdout:
        raise RuntimeError(done.stderr)
