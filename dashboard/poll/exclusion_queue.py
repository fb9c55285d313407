"""The hashes that a network is asked about, in the order of when they are due, held in memory.

A cohort is one number in a heap, 56 bytes, however many hashes it has: these are read from the
store when they are due, so what was removed meanwhile is not asked about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from heapq import heappop, heappush
from typing import Final

from dashboard.poll.next_check import CadencePolicy, next_check, next_try
from dashboard.store.tracking.cohorts import PollResult

_UNIT: Final = timedelta(milliseconds=1)
_TIME_BITS: Final = 48
_ID_BITS: Final = 48
_SIZE_BITS: Final = 16
_AGES_AGO: Final = 1 << (_TIME_BITS - 1)
"""Added to a time, which may lie before this process began, so that it is never negative."""


@dataclass(frozen=True, slots=True)
class ScheduledCohort:
    """A cohort of at most `size` hashes; `born` is when its age began, in elapsed time."""

    cohort_id: int
    born: timedelta
    size: int


class ExclusionQueue:
    """A heap of cohorts by due time, all in elapsed time, to the millisecond."""

    def __init__(self, policy: CadencePolicy) -> None:
        """Begin with nothing to ask."""
        self._policy = policy
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._heap)

    def reschedule(
        self, cohort: ScheduledCohort, last: PollResult, asked: timedelta, now: timedelta
    ) -> None:
        """Schedule the next question after one that was asked then; none after the last one.

        One that should have been asked before `now`, while this process was down, is due at once.
        """
        asked = min(asked, now)  # stored by a clock that was ahead
        age = asked - cohort.born
        if last.is_answered:
            wait = next_check(age, self._policy, is_rejected=last.is_rejected)
        else:
            wait = next_try(age, self._policy)
        if wait is not None:
            self.put(cohort, max(asked + wait, now))

    def take_due(self, now: timedelta, limit: int) -> list[ScheduledCohort]:
        """Take what is due off the schedule, the most overdue first, until `limit` hashes."""
        taken: list[ScheduledCohort] = []
        end = _packed(now + _UNIT, 0)
        while self._heap and self._heap[0] < end and limit > 0:
            taken.append(_unpacked(heappop(self._heap)))
            limit -= taken[-1].size
        return taken

    def put_back(self, due: Iterable[ScheduledCohort], at: timedelta) -> None:
        """Schedule cohorts again, as they were, for that time."""
        for each in due:
            self.put(each, at)

    def put(self, cohort: ScheduledCohort, due: timedelta) -> None:
        """Schedule a cohort for that time."""
        about = cohort.cohort_id << _SIZE_BITS | cohort.size
        heappush(self._heap, _packed(due, about << _TIME_BITS | _number(cohort.born)))


def _number(time: timedelta) -> int:
    return time // _UNIT + _AGES_AGO


def _packed(due: timedelta, about: int) -> int:
    return _number(due) << (_ID_BITS + _SIZE_BITS + _TIME_BITS) | about


def _unpacked(entry: int) -> ScheduledCohort:
    born = (entry & ((1 << _TIME_BITS) - 1)) - _AGES_AGO
    about = entry >> _TIME_BITS
    size = about & ((1 << _SIZE_BITS) - 1)
    cohort_id = about >> _SIZE_BITS & ((1 << _ID_BITS) - 1)
    return ScheduledCohort(cohort_id, born * _UNIT, size)
