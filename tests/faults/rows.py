"""Rows of the table of faults: one way in which things go wrong, and what is promised then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import TypeAlias


class Chance(Random):
    """The chance of one run, which comes from the seed, the row and its number alone.

    Rows that try one way after the other go by `number`, so that a run is the same wherever it is
    played, and after whichever other.
    """

    def __init__(self, seed: int, row: str, number: int) -> None:
        """Make the same choices each time."""
        super().__init__(f"{seed}/{row}/{number}")
        self.number = number
        self.begun = 0

    def cases(self, count: int) -> Iterator[int]:
        """Go through the cases of one play, and keep how many have begun."""
        for case in range(count):
            self.begun += 1
            yield case


Play: TypeAlias = Callable[[Chance], None]
"""Let the fault happen once; AssertionError tells which promise was broken."""


@dataclass(frozen=True, slots=True)
class Row:
    """One fault.

    `stage` prepares in an empty folder what all runs share, and clears it away afterwards.
    `short` and `full` count the runs of `make check` and of `make faults`; where one play is
    made of many cases, `cases_per_play` says how many, and the counts are of cases. Where the
    promise is of seconds, `short_stage` checks the same by order: `make check` times nothing.
    """

    name: str
    promise: str
    short: int
    full: int
    stage: Callable[[Path], AbstractContextManager[Play]]
    cases_per_play: int = 1
    short_stage: Callable[[Path], AbstractContextManager[Play]] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A broken promise; with the row's seed, its number tells how to see it again.

    `cases`: how many of its cases the play came to, the broken one included; None for all.
    """

    number: int
    what: str
    cases: int | None = None


def play_row(
    row: Row, folder: Path, seed: int, numbers: Iterable[int]
) -> Iterator[tuple[int, Failure | None]]:
    """Play the runs with these numbers; yield each number with its failure, if it has one.

    The next number is asked for when a run is over. A stage that a failure has left in disorder is
    set up anew; one that ends badly tells the failure of its last run, after that run seemed well.
    """
    left = iter(numbers)
    number = next(left, None)
    for place in (folder / f"{row.name}-{stage}" for stage in count()):
        if number is None:
            return
        place.mkdir(parents=True)
        played = number
        chance: Chance | None = None
        try:
            with row.stage(place) as play:
                while number is not None:
                    played = number
                    chance = Chance(seed, row.name, number)
                    play(chance)
                    chance = None
                    yield number, None
                    number = next(left, None)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what the table counts
            cases = None if chance is None else max(1, chance.begun)
            yield played, Failure(played, f"{type(error).__name__}: {error}"[:2000], cases)
            if number is not None:
                number = next(left, None)


def play_short(row: Row, folder: Path, seed: int = 1) -> None:
    """Play the short run as a test; the first broken promise ends it."""
    row = replace(row, stage=row.short_stage or row.stage)
    for _, failure in play_row(row, folder, seed, range(row.short // row.cases_per_play)):
        assert failure is None, f"run {failure.number} with seed {seed}: {failure.what}"
