"""S12: percentiles of a rolling window of blocks, beside recomputing them from SQL per block.

Serve follows blocks, so its window is in memory alone. The worker's is that of a store which others
use as well: it is asked at each block whether it was changed.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Final

import numpy as np

from dashboard.devnet.demo import DemoFees
from dashboard.devnet.genesis import DEVNET
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.quantity import Wei
from tests.bench.fee_history import SEED, UNTIL
from tests.bench.rounds import Median, WrongAnswerError
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, spread
from tests.bench.worker_window import PERCENTS, worker_window

WINDOW: Final = 20_000
_BLOCKS: Final = 5_000
_BLOCKS_OF_SQL: Final = 20
_SQL: Final = """\
SELECT fee FROM (SELECT fee FROM fees ORDER BY number DESC LIMIT ?) ORDER BY fee LIMIT 1 OFFSET ?"""
"""The nearest rank, as the window tells it; numbers are the key, so blocks are not sorted."""

_OF_WORKER: Final = (
    "At each block the worker also asks its store whether anybody else changed it, in one part "
    "in {:,.0f} of the time of reading all fees."
)


def run(scene: Scene) -> Result:
    """Append blocks to both; after each one both tell the two percentiles, and must agree."""
    fees = _fees(WINDOW + _BLOCKS)
    ours, told = _by_window(fees, scene.rounds)
    sql, recomputed = _by_sql(fees[: WINDOW + _BLOCKS_OF_SQL], scene.rounds)
    if recomputed != told[: len(recomputed)]:
        raise WrongAnswerError("the window and SQL tell different percentiles")
    with worker_window(fees[:WINDOW]) as window:
        worker = [window.follow(fees[WINDOW:], told) for _ in range(scene.rounds)]
    ratio = Median.of([theirs / one for theirs, one in zip(sql, ours, strict=True)])
    of_worker = Median.of([each.whole / each.rolling for each in worker])
    return Result(
        title=f"S12: two percentiles after each block, over the last {WINDOW:,}",
        promises=[
            Promise("S12", "rolling percentiles: × recomputing from SQL", 500, ratio.middle, "×")
        ],
        heads=("who", "microseconds of CPU time a block"),
        lines=[
            ["the window of serve", spread(Median.of(ours))],
            ["SQLite, from its table of blocks", spread(Median.of(sql))],
            ["the window of the worker", spread(Median.of([each.rolling for each in worker]))],
            ["the same, read whole", spread(Median.of([each.whole for each in worker]))],
        ],
        remarks=[
            f"Both gave the same answers for each of {_BLOCKS_OF_SQL} blocks, in every round.",
            _OF_WORKER.format(of_worker.middle),
        ],
    )


def _fees(count: int) -> Sequence[Wei]:
    seconds = int(UNTIL.timestamp()) + 2 * np.arange(-count, 0)
    return [Wei(fee) for fee in DemoFees(SEED, DEVNET, UNTIL).base_fees(seconds).tolist()]


def _by_window(fees: Sequence[Wei], rounds: int) -> tuple[list[float], list[tuple[Wei, ...]]]:
    """Return the microseconds of a block in each round, and what the last round told."""
    took, told = [], []
    for _ in range(rounds):
        window = FeeWindow(WINDOW)
        window.prepend(fees[:WINDOW])
        begun = time.process_time()
        told = list(_rolled(window, fees[WINDOW:]))
        took.append((time.process_time() - begun) / len(told) * 1e6)
    return took, told


def _rolled(window: FeeWindow, fees: Sequence[Wei]) -> Iterator[tuple[Wei, ...]]:
    for fee in fees:
        window.append(fee)
        yield tuple(window.percentile(percent) for percent in PERCENTS)


def _by_sql(fees: Sequence[Wei], rounds: int) -> tuple[list[float], list[tuple[Wei, ...]]]:
    took, told = [], []
    for _ in range(rounds):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE TABLE fees (number INTEGER PRIMARY KEY, fee INTEGER)")
            rows = enumerate(fees)
            connection.executemany("INSERT INTO fees VALUES (?, ?)", islice(rows, WINDOW))
            begun = time.process_time()
            told = [_recomputed(connection, row) for row in rows]
            took.append((time.process_time() - begun) / len(told) * 1e6)
    return took, told


def _recomputed(connection: sqlite3.Connection, row: tuple[int, Wei]) -> tuple[Wei, ...]:
    connection.execute("INSERT INTO fees VALUES (?, ?)", row)
    ranks = (WINDOW * percent // 100 - 1 for percent in PERCENTS)
    found = (connection.execute(_SQL, (WINDOW, rank)).fetchone() for rank in ranks)
    return tuple(Wei(fee) for (fee,) in found)
