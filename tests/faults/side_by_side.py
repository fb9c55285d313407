"""Plays the runs of a row side by side, in processes that each take a share of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty

import structlog

from tests.faults.registry import ROWS
from tests.faults.rows import Outcome, Row, play_row
from tests.waiting import PATIENCE


def play_beside(
    row: Row, folder: Path, seed: int, numbers: Sequence[int], sides: int
) -> Iterator[Outcome]:
    """Play these runs in so many processes; yield each as it ends."""
    context = get_context("spawn")
    outcomes: Queue[Outcome | None] = context.Queue()
    shares = [numbers[side::sides] for side in range(min(sides, len(numbers)))]
    processes = [
        context.Process(
            target=_play_share, args=(row.name, folder / str(side), seed, share, outcomes)
        )
        for side, share in enumerate(shares)
    ]
    for process in processes:
        process.start()
    playing = len(processes)
    while playing:
        try:
            outcome = outcomes.get(timeout=1)
        except Empty:
            is_well = all(each.exitcode in {None, 0} for each in processes)
            assert is_well, f"a side of {row.name} ended with a run in hand"
            continue
        if outcome is None:
            playing -= 1
        else:
            yield outcome
    for process in processes:
        process.join(PATIENCE)


def _play_share(
    name: str, folder: Path, seed: int, share: Sequence[int], outcomes: Queue[Outcome | None]
) -> None:
    """Play a share; of what is logged meanwhile, only errors are shown."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    (row,) = (each for each in ROWS if each.name == name)
    for outcome in play_row(row, folder, seed, share):
        outcomes.put(outcome)
    outcomes.put(None)
