"""What a benchmark found, as tables that a terminal shows and that the published page holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.bench.rounds import Median, Round

BUSY = 0.9
"""A process that runs for this share of the time is at the limit of its core."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A promised figure beside the measured one; `is_floor`: at least so much, else at most."""

    name: str
    what: str
    promised: float
    measured: float
    unit: str = ""
    is_floor: bool = True

    @property
    def is_kept(self) -> bool:
        if self.is_floor:
            return self.measured >= self.promised
        return self.measured <= self.promised


@dataclass(frozen=True, slots=True)
class Result:
    """All of one case: its promises, and a table with everything behind them."""

    title: str
    promises: Sequence[Promise]
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


SPEED_HEADS = ("server", "per second", "per CPU second", "core busy", "loader busy")


def speed_lines(results: Mapping[str, Sequence[Round]]) -> list[list[str]]:
    """Show each contender: the median of its rounds and how far they lay apart."""
    return [
        [
            name,
            spread(Median.of([each.per_second for each in rounds])),
            spread(Median.of([each.per_cpu_second for each in rounds])),
            f"{Median.of([each.busy for each in rounds]).middle:.0%}",
            f"{Median.of([each.loader for each in rounds]).middle:.0%}",
        ]
        for name, rounds in results.items()
    ]


def spread(median: Median) -> str:
    """Show a figure with its smallest and its largest."""
    return f"{number(median.middle)} ({number(median.smallest)}–{number(median.largest)})"


def number(figure: float) -> str:
    """Show three digits that count, thousands apart."""
    if figure >= 1_000:
        digits = len(str(int(figure))) - 3
        return f"{round(figure, -digits):,.0f}"
    return f"{figure:.3g}"


def remarks(results: Mapping[str, Sequence[Round]]) -> list[str]:
    """Say what stood between the servers and their speed: our load, or other programs."""
    said = []
    for name, rounds in results.items():
        busy = Median.of([each.busy for each in rounds]).middle
        if busy > BUSY:
            continue
        if Median.of([each.loader for each in rounds]).middle > BUSY:
            said.append(f"The load was the limit for {name}, which can be faster by the clock.")
        else:
            said.append(
                f"{name} had its core for only {busy:.0%} of the time: compare per CPU second."
            )
    return said


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(heads)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *lines))


def promise_table(promises: Sequence[Promise]) -> str:
    """Write promised beside measured."""
    lines = [
        [
            each.name,
            each.what,
            f"{'≥' if each.is_floor else '≤'} {number(each.promised)} {each.unit}".rstrip(),
            f"{number(each.measured)} {each.unit}".rstrip(),
            "" if each.is_kept else "**missed**",
        ]
        for each in promises
    ]
    return markdown(("promise", "what", "promised", "measured", ""), lines)
