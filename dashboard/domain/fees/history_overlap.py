"""How two successive answers of `baseFeeHistory` overlap, and so which base fees are new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dashboard.domain.quantity import Wei

SMALLEST_OVERLAP: Final = 5
"""How many consecutive equal values make an overlap; fewer may be equal by chance."""


@dataclass(frozen=True, slots=True)
class HistoryOverlap:
    """How a later answer continues an earlier one, for one order of both.

    `base_fees` are the later answer's, oldest first. Between `fewest` and `most` of them belong to
    new blocks.
    """

    base_fees: Sequence[Wei]
    fewest: int
    most: int
    _run_begins: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find, for each block, where its run of equal base fees begins."""
        begins: list[int] = []
        for place, fee in enumerate(self.base_fees):
            goes_on = place > 0 and fee == self.base_fees[place - 1]
            begins.append(begins[-1] if goes_on else place)
        object.__setattr__(self, "_run_begins", begins)

    @property
    def is_certain(self) -> bool:
        """Whether the number of new blocks is known."""
        return self.fewest == self.most

    def common_fee(self, newest: int, oldest: int) -> Wei | None:
        """Return the base fee that all blocks of these ages share; None if they differ.

        Ages are in blocks; the newest block has the age 0. Takes constant time.
        """
        last = len(self.base_fees) - 1
        is_one_run = self._run_begins[last - newest] <= last - oldest
        return self.base_fees[last - newest] if is_one_run else None


def fits(earlier: Sequence[Wei], later: Sequence[Wei]) -> list[HistoryOverlap]:
    """Return how two answers overlap, at most once for each order; empty if they do not.

    Both orders are tried: oldest block first, then newest block first. Takes linear time.
    """
    found = []
    for in_order, lengths in (
        (later, overlaps(earlier, later)),
        (later[::-1], overlaps(later, earlier)),
    ):
        if lengths:
            found.append(
                HistoryOverlap(in_order, len(later) - lengths[0], len(later) - lengths[-1])
            )
    return found


def overlaps(earlier: Sequence[Wei], later: Sequence[Wei]) -> list[int]:
    """Return each length, longest first, at which the end of `earlier` equals the start of `later`.

    These are the borders of the concatenation, as Knuth, Morris and Pratt find them.
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
