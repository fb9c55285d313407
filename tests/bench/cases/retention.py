"""Retention: how long its steps are, and how much longer saves take while it forgets."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from dashboard.store.engine.engine import Store, open_store
from dashboard.store.schema import estimated_base_fees
from tests.bench.expected_replies import NETWORK
from tests.bench.peers.writer import write_once
from tests.bench.processes import PROJECT
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number
from tests.bench.year_of_fees import insert_all
from tests.waiting import eventually

LONGEST: Final = 10.0
"""Milliseconds of CPU time that a step should take at most."""

_SLOWER: Final = 2.0
_PACE: Final = 10
"""Rejections that are saved in a second, each in a transaction of its own."""
_SHARE: Final = 0.99
_KEPT: Final = timedelta(days=2)
"""Half of the archive is older, and so are all of the fees."""


class Forgot(NamedTuple):
    """The steps of one kind: rows together, seconds each held the others up, CPU seconds."""

    rows: int
    held: Sequence[float]
    cpu: Sequence[float]


def run(scene: Scene) -> Result:
    """Save at a pace, first alone, then beside another process that forgets."""
    seconds = scene.seconds * scene.rounds
    with TemporaryDirectory(dir=scene.folder) as folder:
        file = Path(folder) / "linewatch.sqlite"
        shutil.copyfile(scene.archive.file, file)
        with closing(open_store(f"sqlite:///{file}")) as store:
            _see_fees(store, scene.archive.stored // 10, scene.day)
            alone = _saved(store, seconds)
            with _forgetting(file, scene.day - _KEPT) as told:
                beside = _saved(store, seconds)
                lines = told.read_text(encoding="utf-8").splitlines()
    kinds = _by_kind(lines)
    longest = max(max(each.cpu) for each in kinds.values())
    ratio = _at(beside, _SHARE) / _at(alone, _SHARE)
    return Result(
        title=f"Retention: a store of {scene.archive.stored:,} rejections purges while one saves",
        promises=[
            Promise("retention", "longest step, CPU", LONGEST, longest, "ms", is_floor=False),
            Promise("retention", "p99 of saves beside it", _SLOWER, ratio, "×", is_floor=False),
        ],
        heads=("what", "how many", "p50", "p99", "longest"),
        lines=[
            ["saves alone", f"{len(alone):,}", *_spread(alone)],
            ["saves beside it", f"{len(beside):,}", *_spread(beside)],
            *_lines(kinds),
        ],
        remarks=[_REMARK],
    )


_REMARK: Final = (
    "A save is one polled rejection, from when it was due until it is on disk. A step is one "
    "transaction that deletes old rows: how long nobody else could write, and its CPU time."
)


def _saved(store: Store, seconds: float) -> list[float]:
    """Return how long each save took, in milliseconds, the shortest first."""
    took, pause = [], threading.Event()
    begun = time.perf_counter()
    for place in range(round(seconds * _PACE)):
        due = begun + place / _PACE
        pause.wait(max(0.0, due - time.perf_counter()))
        write_once(store, 1)
        took.append(1000 * (time.perf_counter() - due))
    return sorted(took)


@contextmanager
def _forgetting(file: Path, before: datetime) -> Iterator[Path]:
    """Let another process forget, and tell into a file what it does."""
    told = file.with_suffix(".steps")
    module = ("-m", "tests.bench.peers.housekeeper")
    command = [sys.executable, *module, f"sqlite:///{file}", before.isoformat(), str(told)]
    with subprocess.Popen(command, cwd=PROJECT) as process:
        try:
            eventually(lambda: told.exists() and told.stat().st_size > 0, what="the first step")
            yield told
        finally:
            process.terminate()


def _by_kind(lines: Sequence[str]) -> dict[str, Forgot]:
    steps: defaultdict[str, list[Any]] = defaultdict(list)
    for kind, *figures in map(json.loads, lines):
        steps[kind].append(figures)
    return {
        kind: Forgot(
            sum(rows for rows, _, _ in some),
            sorted(1000 * held for _, held, _ in some),
            sorted(1000 * cpu for _, _, cpu in some),
        )
        for kind, some in steps.items()
    }


def _lines(kinds: dict[str, Forgot]) -> Iterator[list[str]]:
    for kind, each in kinds.items():
        yield [f"{kind}: nobody else could write", f"{len(each.held):,} steps", *_spread(each.held)]
        yield [f"{kind}: CPU time", f"{each.rows:,} rows", *_spread(each.cpu)]


def _spread(took: Sequence[float]) -> list[str]:
    return [f"{number(_at(took, share))} ms" for share in (0.5, _SHARE, 1)]


def _at(took: Sequence[float], share: float) -> float:
    return took[round((len(took) - 1) * share)]


def _see_fees(store: Store, many: int, day: datetime) -> None:
    """Put old fees in; estimated ones are as many rows as others, and quicker to make."""
    second = timedelta(seconds=1)
    with store.write() as connection:
        insert_all(
            connection,
            estimated_base_fees,
            (
                {"network_id": NETWORK, "at": day - _KEPT - place * second, "base_fee": 7}
                for place in range(many, 0, -1)
            ),
        )
