"""By how much transactions went over their limits: overruns, sorted into ranges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dashboard.domain.reason_explanation import overrun
from dashboard.domain.reason_parser import ReasonKind, parse_reason

_RANGES: Final = (
    ("to 1.1×", 1.1),
    ("to 1.5×", 1.5),
    ("to 2×", 2.0),
    ("to 5×", 5.0),
    ("to 10×", 10.0),
    ("more", float("inf")),
)
_LIMIT_ZERO: Final = "limit 0"
RANGES: Final = (*(name for name, _ in _RANGES), _LIMIT_ZERO)
"""The ranges, from the smallest overrun on; with a limit of 0 nothing can be divided by it."""


@dataclass(frozen=True, slots=True)
class Overruns:
    """Rejections in each of `RANGES`; `of` were looked at, and `largest` is the largest overrun."""

    counts: tuple[int, ...]
    of: int
    largest: float | None

    @property
    def total(self) -> int:
        """Of how many the reason names both numbers."""
        return sum(self.counts)


def sort_overruns(reasons: Iterable[str]) -> Overruns:
    """Sort what went over a limit by how far; most texts of sequencers name no numbers."""
    counts = dict.fromkeys(RANGES, 0)
    of, largest = 0, None
    for text in reasons:
        of += 1
        reason = parse_reason(text)
        factor = overrun(reason)
        if factor is not None:
            counts[next(name for name, end in _RANGES if factor <= end)] += 1
            largest = factor if largest is None else max(largest, factor)
        elif reason.kind is ReasonKind.OVER_LIMIT and reason.limit == 0:
            counts[_LIMIT_ZERO] += 1
    return Overruns(tuple(counts.values()), of, largest)
