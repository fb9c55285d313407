"""Alignment: which values of a base fee history are new, since it names no blocks.

Two answers of `baseFeeHistory` that follow each other overlap: the end of the earlier one is the
beginning of the later one. How long the overlap is tells how many blocks came between. A chain
whose fee repeats itself fits in many ways; then nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.domain.quantity import Wei

SMALLEST_OVERLAP: Final = 5
"""Equal values in a row that make an overlap; fewer are equal by chance."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """`came` blocks are new; `newest_first` is the order in which both answers stand."""

    came: int
    newest_first: bool = False


def align(earlier: Sequence[Wei], later: Sequence[Wei]) -> Alignment | None:
    """Return how many blocks came between two answers; None where no way or several ways fit.

    Both orders are tried, the oldest block first before the other one. It takes linear time.
    """
    forward = overlaps(earlier, later)
    backward = overlaps(later, earlier)
    if len({*forward, *backward}) != 1:
        return None
    if forward:
        return Alignment(len(later) - forward[0])
    return Alignment(len(later) - backward[0], newest_first=True)


def overlaps(earlier: Sequence[Wei], later: Sequence[Wei]) -> list[int]:
    """Return each length, longest first, in which the one's end is the other's beginning.

    They are the borders of both written one after the other, as Knuth, Morris and Pratt find them.
    """
    text: list[Wei | None] = [*later, None, *earlier]
    borders = [0] * len(text)
    length = 0
    for place in range(1, len(text)):
        while length and text[place] != text[length]:
            length = borders[length - 1]
        length += text[place] == text[length]
        borders[place] = length
    found = []
    length = borders[-1]
    while length >= SMALLEST_OVERLAP:
        found.append(length)
        length = borders[length - 1]
    return found
