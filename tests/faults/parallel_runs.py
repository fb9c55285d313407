"""Plays the runs of a row side by side, in processes that each take one run after the other.

Started as `python -m tests.faults.parallel_runs ROW SEED FOLDER`, such a process reads the numbers
of its runs from standard input, one per line, and writes the result of each as a line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Self, TypeAlias

from tests.faults.registry import ROWS
from tests.faults.rows import Failure, Row, play_row
from tests.processes import PROJECT
from tests.waiting import PATIENCE

Outcome: TypeAlias = tuple[int, Failure | None]


def play_beside(
    row: Row, folder: Path, seed: int, numbers: Sequence[int], sides: int
) -> Iterator[Outcome]:
    """Play these runs in so many processes; yield each as it ends."""
    left = iter(numbers)
    with ExitStack() as ends:
        listeners = ends.enter_context(ThreadPoolExecutor(sides))
        processes = [
            ends.enter_context(_Side(row.name, seed, folder / str(side)))
            for side in range(min(sides, len(numbers)))
        ]
        told: SimpleQueue[tuple[_Side, Outcome | None]] = SimpleQueue()
        for side in processes:
            side.play(next(left, None))
            listeners.submit(side.listen, told)
        playing = set(processes)
        while playing:
            side, outcome = told.get()
            if outcome is None:
                playing.remove(side)
                assert side.is_well(), f"a side of {row.name} ended with a run in hand"
            else:
                side.play(next(left, None))
                yield outcome


class _Side:
    """One process that plays what it is given."""

    def __init__(self, row: str, seed: int, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.parallel_runs", row, str(seed), str(folder)],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let it come to the end of its run, where it has none any more, and of its stage."""
        self.play(None)
        self._process.wait(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def play(self, number: int | None) -> None:
        """Give it one run more; None tells that there is none."""
        given = self._process.stdin
        assert given is not None
        with suppress(BrokenPipeError):
            if number is None:
                given.close()
            elif not given.closed:
                given.write(f"{number}\n")
                given.flush()

    def listen(self, told: SimpleQueue[tuple[_Side, Outcome | None]]) -> None:
        """Pass on what it tells, and None at its end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            news = json.loads(line)
            failure = news["failure"]
            told.put((self, (news["number"], failure and Failure(**failure))))
        told.put((self, None))

    def is_well(self) -> bool:
        """Whether it ended in good order."""
        return self._process.wait(PATIENCE) == 0


def main(name: str, seed: str, folder: str) -> None:
    """Play until standard input ends."""
    (row,) = (each for each in ROWS if each.name == name)
    with os.fdopen(os.dup(1), "w") as telling:
        os.dup2(2, 1)  # what a row prints is none of our news
        numbers = (int(line) for line in iter(sys.stdin.readline, ""))
        for number, failure in play_row(row, Path(folder), int(seed), numbers):
            news = {"number": number, "failure": failure and asdict(failure)}
            with suppress(BrokenPipeError):
                print(json.dumps(news), file=telling, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
