"""The calendar in memory: which cohorts a network is to be asked about, and when.

A cohort is one number in a heap, 56 bytes, however many hashes it has: these are read from the
store when it is their turn, so what was removed meanwhile is not asked about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from heapq import heappop, heappush
from typing import Final, NamedTuple

from dashboard.poll.intervals import CadencePolicy, next_check, next_try

_UNIT: Final = timedelta(milliseconds=1)
_TIME_BITS: Final = 48
_ID_BITS: Final = 48
_SIZE_BITS: Final = 16
_AGES_AGO: Final = 1 << (_TIME_BITS - 1)
"""Added to a time, which may lie before our own beginning: so it is a number without sign."""


@dataclass(frozen=True, slots=True)
class Due:
    """A cohort of at most `size` hashes; `born` is when its age began, in elapsed time."""

    cohort_id: int
    born: timedelta
    size: int


class Question(NamedTuple):
    """A question about a cohort, put at a moment of elapsed time, and what came of it."""

    asked: timedelta
    is_answered: bool
    is_rejected: bool


class Calendar:
    """A heap of cohorts by due time, all in elapsed time, to the millisecond."""

    def __init__(self, policy: CadencePolicy) -> None:
        """Begin with nothing to ask."""
        self._policy = policy
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, cohort: Due, last: Question | None, now: timedelta) -> None:
        """Enter a cohort about which this was asked last.

        One that was never asked about is due at once. The others are due when they would have
        been, had this calendar run all along: at once, if that is past. One whose last question
        was answered is left out.
        """
        due = now if last is None else self._next(cohort.born, last, now)
        if due is not None:
            self.put(cohort, max(due, now))

    def take_due(self, now: timedelta, limit: int) -> list[Due]:
        """Take what is due off the calendar, the most overdue first, until `limit` hashes."""
        taken: list[Due] = []
        end = _packed(now + _UNIT, 0)
        while self._heap and self._heap[0] < end and limit > 0:
            taken.append(_unpacked(heappop(self._heap)))
            limit -= taken[-1].size
        return taken

    def put_back(self, cohorts: Iterable[Due], due: timedelta) -> None:
        """Enter cohorts again, for that time."""
        for cohort in cohorts:
            self.put(cohort, due)

    def put(self, cohort: Due, due: timedelta) -> None:
        """Enter a cohort for that time."""
        about = cohort.cohort_id << _SIZE_BITS | cohort.size
        heappush(self._heap, _packed(due, about << _TIME_BITS | _number(cohort.born)))

    def _next(self, born: timedelta, last: Question, now: timedelta) -> timedelta | None:
        """Return when to ask again; None where that was the last question."""
        asked = min(last.asked, now)  # stored by a clock that was ahead
        if not last.is_answered:
            return asked + next_try(asked - born, self._policy)
        wait = next_check(asked - born, self._policy, is_rejected=last.is_rejected)
        return None if wait is None else asked + wait


def _number(time: timedelta) -> int:
    return time // _UNIT + _AGES_AGO


def _packed(due: timedelta, about: int) -> int:
    return _number(due) << (_ID_BITS + _SIZE_BITS + _TIME_BITS) | about


def _unpacked(entry: int) -> Due:
    born = (entry & ((1 << _TIME_BITS) - 1)) - _AGES_AGO
    about = entry >> _TIME_BITS
    size = about & ((1 << _SIZE_BITS) - 1)
    cohort_id = about >> _SIZE_BITS & ((1 << _ID_BITS) - 1)
    return Due(cohort_id, born * _UNIT, size)
