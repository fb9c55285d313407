"""Steps of counters: which cover a time, long ones in its middle, shorter ones at its ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_HOUR: Final = 3_600_000


class CounterStep(IntEnum):
    """How long a counter counts; steps begin at whole multiples of their length since 1970."""

    EVER = 0
    FOUR_WEEKS = 1
    WEEK = 2
    DAY = 3
    HOUR = 4

    def beginning(self, milliseconds: int) -> int:
        """Return the beginning of the step that holds a moment; that of all time is 0."""
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
    """A range of time from `begin` to before `end`, both in milliseconds; None is without end.

    It is counted by the steps of `level`, or one by one where that is None.
    """

    level: CounterStep | None
    begin: int | None
    end: int | None


def ranges_of(begin: int | None, end: int | None, step: int | None = None) -> list[CountedRange]:
    """Return ranges that cover the time from `begin` to before `end` without overlap, at least one.

    No counted step crosses a multiple of `step` milliseconds, where a step is given.
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
