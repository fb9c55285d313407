"""Longer intervals, so that the credits of a budget last until its period ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Protocol, TypeVar

from dashboard.upstream.budget import NetworkBudgets

_LONGEST: Final = timedelta(days=1)
"""How long a question is delayed at most, since a new budget period begins then."""

_PLANNED_FOR: Final = timedelta(hours=1)
"""The present load is expected to go on for so much of the day, since new transactions come. If it
were shorter, a transaction of this minute would look as if it were asked about so often all day."""

_PLANNED_EVERY: Final = timedelta(minutes=1)
_SAMPLE: Final = 1000

T = TypeVar("T")


def stretched(wait: timedelta, stretch: float, left: timedelta) -> timedelta:
    """Return a longer wait, at most a day and, if `left` remains before the last question, that."""
    return min(wait * stretch, max(wait, min(_LONGEST, left)))


def calls_of_all(schedule: Sequence[T], calls: Callable[[T], int]) -> int:
    """Return the calls of everything in a schedule; only a sample of a long one is read."""
    step = max(1, len(schedule) // _SAMPLE)
    return step * sum(map(calls, schedule[::step]))


class Stretchable(Protocol):
    """A schedule whose intervals are `stretch` times as long as its policy says."""

    stretch: float

    def calls_per_second(self, now: timedelta, within: timedelta, /) -> float:
        """Return the questions of a second, on average, without stretching."""


class Stretching:
    """Stretches a schedule of one poll, `who`, so that the credits suffice."""

    def __init__(self, budgets: NetworkBudgets, who: object, schedule: Stretchable) -> None:
        self._budgets = budgets
        self._who = who
        self._schedule = schedule
        self._planned_at: timedelta | None = None
        schedule.stretch = self._longest = budgets.stretch

    def judge(self, now: timedelta) -> bool:
        """Decide once a minute how far to stretch; return whether intervals became half as long.

        If so, as after a budget was raised, everything is to be scheduled again: what waits would
        go on waiting for the old ones. Blocks.
        """
        if self._planned_at is not None and now - self._planned_at < _PLANNED_EVERY:
            return False
        calls = self._schedule.calls_per_second(now, _PLANNED_FOR)
        stretch = self._budgets.plan(self._who, calls)
        is_shorter = 2 * stretch <= self._longest
        self._longest = stretch if is_shorter else max(self._longest, stretch)
        self._schedule.stretch, self._planned_at = stretch, now
        return is_shorter
