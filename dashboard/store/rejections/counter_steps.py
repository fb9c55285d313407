"""Steps of counters: which cover a time, long ones in its middle, shorter ones at its ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_HOUR: Final = 3_600_000


class CounterStep(IntEnum):
    """How long the steps of a tally are; they begin at whole multiples of that since 1970."""

    EVER = 0
    FOUR_WEEKS = 1
    WEEK = 2
    DAY = 3
    HOUR = 4

    def beginning(self, milliseconds: int) -> int:
        """Return where the step that holds a moment begins; all time begins at 0."""
        return 0 if self is CounterStep.EVER else milliseconds - milliseconds % STEP_LENGTHS[self]


STEP_LENGTHS: Final = {
    CounterStep.FOUR_WEEKS: 28 * 24 * _HOUR,
    CounterStep.WEEK: 7 * 24 * _HOUR,
    CounterStep.DAY: 24 * _HOUR,
    CounterStep.HOUR: _HOUR,
}
"""The length of a step, in milliseconds."""


@dataclass(frozen=True, slots=True)
class CountedRange:
    """A stretch of time from `begin` to before `end`, both in milliseconds; None is without end.

    It is counted by the steps of `level`, or one by one where that is None.
    """

    level: CounterStep | None
    begin: int | None
    end: int | None


def ranges_of(begin: int | None, end: int | None, step: int | None = None) -> list[CountedRange]:
    """Return parts that cover the time from `begin` to before `end`, each moment once; never none.

    None of their steps lies across the border of two steps of `step` milliseconds. Without
    `step`, the time is one whole.
    """
    if step is None and begin is None and end is None:
        return [CountedRange(CounterStep.EVER, None, None)]
    levels = [each for each, length in STEP_LENGTHS.items() if step is None or step % length == 0]
    return list(_parts(begin, end, levels)) or [CountedRange(None, begin, end)]


def _parts(
    begin: int | None, end: int | None, levels: Sequence[CounterStep]
) -> Iterator[CountedRange]:
    if begin is not None and end is not None and begin >= end:
        return
    if not levels:
        yield CountedRange(None, begin, end)
        return
    level, *finer = levels
    length = STEP_LENGTHS[level]
    first = None if begin is None else begin + -begin % length
    last = None if end is None else end - end % length
    if first is not None and last is not None and first >= last:
        yield from _parts(begin, end, finer)
        return
    if begin is not None:
        yield from _parts(begin, first, finer)
    yield CountedRange(level, first, last)
    if end is not None:
        yield from _parts(last, end, finer)
