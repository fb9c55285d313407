"""How well a source answers a question: how often, and within what time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from operator import add
from typing import Final

LIMITS: Final = tuple(
    timedelta(milliseconds=each)
    for each in (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
)
"""Up to which time an answer counts to each place of `times`; the last place is beyond all."""

_LONGEST: Final = timedelta(seconds=30)
"""What the slowest answers are taken for: the deadline of a question, as delivered."""


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """What became of one question each time it was asked.

    `instead` counts answers of the node that were given since the gas API failed. `times` counts
    answers by how long they took; hashes that are asked about together share one time.
    """

    answered: int = 0
    instead: int = 0
    failed: int = 0
    times: tuple[int, ...] = (0,) * (len(LIMITS) + 1)

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        return AnswerCounts(
            self.answered + other.answered,
            self.instead + other.instead,
            self.failed + other.failed,
            tuple(map(add, self.times, other.times)),
        )

    @property
    def asked(self) -> int:
        """How often it was asked."""
        return self.answered + self.instead + self.failed

    def share(self) -> float | None:
        """Return the share that was answered, None where nothing was asked."""
        return (self.answered + self.instead) / self.asked if self.asked else None

    def percentile(self, part: float) -> timedelta | None:
        """Return the time within which this part of the answers came, None without answers.

        Within a place of `times` answers are taken for evenly spread.
        """
        rank, below = part * sum(self.times), 0
        for place, count in enumerate(self.times):
            if count and below + count >= rank:
                begins = LIMITS[place - 1] if place else timedelta()
                ends = LIMITS[place] if place < len(LIMITS) else _LONGEST
                return begins + (ends - begins) * ((rank - below) / count)
            below += count
        return None


def times_of(took: timedelta) -> tuple[int, ...]:
    """Count one answer that took so long."""
    place = sum(took > limit for limit in LIMITS)
    return tuple(int(each == place) for each in range(len(LIMITS) + 1))
