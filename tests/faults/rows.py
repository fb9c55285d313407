"""Rows of the table of faults: a site, a fault that happens to it, and what is promised then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import TypeAlias, TypeVar

S = TypeVar("S")


class Chance(Random):
    """The randomness of one run, which follows from the seed, the row and the run's number alone.

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

Stage: TypeAlias = Callable[[Path], AbstractContextManager[Play]]


@dataclass(frozen=True, slots=True)
class Row:
    """One fault.

    `stage` prepares in an empty folder what all runs share, and clears it away afterwards.
    `short` and `full` count the runs of `make check` and of `make faults`; if one play is
    made of many cases, `cases_per_play` says how many, and the counts are of cases. If the
    promise is of seconds, `short_stage` checks the same by order: `make check` times nothing.
    """

    name: str
    promise: str
    short: int
    full: int
    stage: Stage
    cases_per_play: int = 1
    short_stage: Stage | None = None


def playing(
    site: Callable[[Path], AbstractContextManager[S]],
    fault: Callable[[S, Chance], None],
    lives: int = 1,
) -> Stage:
    """Return a stage on which a fault happens to a site so many times, and then to another site.

    A site checks at its end what must hold once nothing fails any more.
    """

    @contextmanager
    def stage(folder: Path) -> Iterator[Play]:
        numbers = count()
        with ExitStack() as current:
            sites: list[S] = []

            def play(chance: Chance) -> None:
                number = next(numbers)
                if number % lives == 0:
                    current.close()
                    home = folder / str(number)
                    home.mkdir(parents=True)
                    sites[:] = [current.enter_context(site(home))]
                fault(sites[0], chance)

            yield play

    return stage


@dataclass(frozen=True, slots=True)
class Failure:
    """A broken promise; with the row's seed, its number tells how to see it again.

    `cases`: how many of its cases the play came to, the broken one included; None for all.
    """

    number: int
    what: str
    cases: int | None = None


Outcome: TypeAlias = tuple[int, Failure | None]


def play_row(row: Row, folder: Path, seed: int, numbers: Iterable[int]) -> Iterator[Outcome]:
    """Play the runs with these numbers; yield each number with its failure, if it has one.

    A stage that a failure has left in disorder is set up anew; one that ends badly tells the
    failure of its last run, after that run seemed well.
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
