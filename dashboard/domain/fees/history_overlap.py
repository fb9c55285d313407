"""How two successive answers of `baseFeeHistory` overlap, and so which base fees are new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dashboard.domain.quantity import Wei

SMALLEST_OVERLAP: Final = 5
"""Equal values in a row that make an overlap; fewer are equal by chance."""


@dataclass(frozen=True, slots=True)
class HistoryOverlap:
    """How a later answer continues an earlier one, if both have one certain order.

    `base_fees` are the later answer's, the oldest first. Between `fewest` and `most` of them
    belong to blocks that came since.
    """

    base_fees: Sequence[Wei]
    fewest: int
    most: int
    _run_begins: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find where the run of equal base fees begins that each block is in."""
        begins: list[int] = []
        for place, fee in enumerate(self.base_fees):
            goes_on = place > 0 and fee == self.base_fees[place - 1]
            begins.append(begins[-1] if goes_on else place)
        object.__setattr__(self, "_run_begins", begins)

    @property
    def is_certain(self) -> bool:
        """Whether it is known how many blocks came."""
        return self.fewest == self.most

    def common_fee(self, newest: int, oldest: int) -> Wei | None:
        """Return the one base fee of the blocks of these ages, in blocks; None if they differ.

        The newest block has the age 0. However many blocks these are, it takes the same time.
        """
        last = len(self.base_fees) - 1
        is_one_run = self._run_begins[last - newest] <= last - oldest
        return self.base_fees[last - newest] if is_one_run else None


def fits(earlier: Sequence[Wei], later: Sequence[Wei]) -> list[HistoryOverlap]:
    """Return how two answers fit, at most once for each order; empty if they do not.

    Both orders are tried: first the oldest block first, then the newest first. Takes linear time.
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
    """Return each length, longest first, at which the end of one is the beginning of the other.

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
