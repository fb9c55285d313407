"""Rounds: contenders take turns under the same load, and every reply is judged.

Two figures stand side by side: replies per second of the clock, which a busy machine lowers, and
replies per second that the server's process ran, which it hardly does.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tests.bench.load_generator import Burst, Load
from tests.bench.processes import Server, settle

Judge: TypeAlias = Callable[[Burst], int]
"""Returns how many lookups a burst answered rightly; raises WrongAnswerError for a wrong one."""


class WrongAnswerError(Exception):
    """A contender told something else than the truth; its speed means nothing."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A server under its own load."""

    name: str
    server: Server
    load: Load
    judge: Judge


class Round(NamedTuple):
    """One turn of one contender: lookups per second, per second of its process, and our share."""

    per_second: float
    per_cpu_second: float
    busy: float
    loader: float


@dataclass(frozen=True, slots=True)
class Median:
    """The middle one of several figures, with the smallest and the largest."""

    middle: float
    smallest: float
    largest: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Median:
        return cls(statistics.median(figures), min(figures), max(figures))


def take_turns(
    contenders: Sequence[Contender], rounds: int, seconds: float
) -> Mapping[str, list[Round]]:
    """Let everyone warm up, then run A B C, A B C, … for `seconds` each."""
    for contender in contenders:
        settle(contender.server)
        _turn(contender, seconds / 4)
    results: dict[str, list[Round]] = {contender.name: [] for contender in contenders}
    for _ in range(rounds):
        for contender in contenders:
            results[contender.name].append(_turn(contender, seconds))
    return results


def _turn(contender: Contender, seconds: float) -> Round:
    before = contender.server.cpu_seconds()
    burst = contender.load.run(seconds)
    cpu = contender.server.cpu_seconds() - before
    lookups = contender.judge(burst)
    return Round(
        lookups / burst.wall, lookups / cpu, cpu / burst.wall, burst.loader_cpu / burst.wall
    )


def ratio(results: Mapping[str, list[Round]], ours: str, theirs: str) -> Median:
    """Divide what one core does in both, round by round: what slows both changes nothing."""
    pairs = zip(results[ours], results[theirs], strict=True)
    return Median.of([one.per_cpu_second / other.per_cpu_second for one, other in pairs])
