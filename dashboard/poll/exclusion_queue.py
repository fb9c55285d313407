"""The queue of the exclusion poll: a heap by due time, with intervals that keep to a budget."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from heapq import heappop, heappush
from typing import Final

from msgspec.structs import replace

from dashboard.domain.tracking.cadence import (
    RENEWED_FOR,
    SELDOM,
    CadencePolicy,
    calls_between,
    next_check,
    next_try,
)
from dashboard.poll.meetings import ScheduledCohort, attended
from dashboard.poll.stretching import calls_of_all, stretched
from dashboard.store.tracking.cohorts import PollResult

_UNIT: Final = timedelta(milliseconds=1)
_TIME_BITS: Final = 48
_ID_BITS: Final = 48
_SIZE_BITS: Final = 16
_AFTER_LIMITS: Final = 1 << (_SIZE_BITS - 1)
_GROUP: Final = 1 << (_SIZE_BITS - 2)
_INCLUDED: Final = 1 << (_SIZE_BITS - 3)
_REJECTED: Final = 1 << (_SIZE_BITS - 4)
"""Flags above the size, which is at most `LARGEST_COHORT`."""

_AGES_AGO: Final = 1 << (_TIME_BITS - 1)
"""Added to a time, which may lie before this process began, so that it is never negative."""


class ExclusionQueue:
    """A heap of cohorts and poll groups by due time, all in elapsed time, to the millisecond.

    Transactions born after line limits ended are asked about by `after_limits`; without that,
    never. `epoch` is a moment that is the same in every process, so that a restart keeps the
    phases. Intervals are `stretch` times as long as the policy says, to keep to a budget.
    """

    def __init__(
        self,
        policy: CadencePolicy,
        after_limits: CadencePolicy | None = SELDOM,
        epoch: timedelta = timedelta(),
    ) -> None:
        self._policy = policy
        self._after_limits = after_limits
        self.epoch = epoch
        self.stretch = 1.0
        self._heap: list[int] = []
        self._renewed: dict[int, timedelta] = {}

    def __len__(self) -> int:
        return len(self._heap)

    def renew(self, cohort_id: int, at: timedelta, now: timedelta) -> None:
        """Renew the age of a cohort at that time, for as long as the policy says."""
        while self._renewed and now - next(iter(self._renewed.values())) >= RENEWED_FOR:
            del self._renewed[next(iter(self._renewed))]
        if now - at < RENEWED_FOR:
            self._renewed[cohort_id] = at

    def renewed_at(self, cohort: ScheduledCohort, now: timedelta) -> timedelta | None:
        """Return when its age was renewed, while that counts."""
        at = None if cohort.is_group else self._renewed.get(cohort.cohort_id)
        return None if at is None or now - at >= RENEWED_FOR else at

    def reschedule(
        self, cohort: ScheduledCohort, last: PollResult, asked: timedelta, now: timedelta
    ) -> None:
        """Schedule the next question after one that was asked then; none after the last one.

        If it should have been asked before `now`, while this process was down, it is due at once.
        """
        policy = self._policy_of(cohort)
        if policy is None:
            return
        asked = min(asked, now)  # stored by a clock that was ahead
        age, renewed_at = asked - cohort.born, self.renewed_at(cohort, now)
        is_rejected = last.is_rejected or last.is_claimed
        if last.is_answered:
            wait = next_check(
                age,
                policy,
                is_rejected=is_rejected,
                is_included=last.is_included,
                renewed=None if renewed_at is None else asked - renewed_at,
            )
        else:
            wait = next_try(age, policy)
        if wait is None:
            return
        due = asked + stretched(wait, self.stretch, policy.last_age - age)
        if last.is_null and not cohort.is_full and renewed_at is None:
            epoch = self.epoch
            due = epoch + attended(cohort.born - epoch, asked - epoch, due - epoch)
        if (cohort.is_included, cohort.is_rejected) != (last.is_included, is_rejected):
            cohort = replace(cohort, is_included=last.is_included, is_rejected=is_rejected)
        self.put(cohort, max(due, now))

    def calls_per_second(self, now: timedelta, within: timedelta) -> float:
        """Return the questions of a second, on average, without stretching."""
        calls = calls_of_all(self._heap, lambda each: self._calls(_unpacked(each), now, within))
        return calls / within.total_seconds()

    def _calls(self, cohort: ScheduledCohort, now: timedelta, within: timedelta) -> int:
        policy = self._policy_of(cohort)
        if policy is None:
            return 0
        age = now - cohort.born
        included_after = timedelta() if cohort.is_included else None
        is_rejected = cohort.is_rejected
        calls = calls_between(
            age, age + within, policy, is_rejected=is_rejected, included_after=included_after
        )
        renewed_at = self.renewed_at(cohort, now)
        if renewed_at is not None and not cohort.is_included:
            until = min(now - renewed_at + within, RENEWED_FOR)
            renewed = calls_between(now - renewed_at, until, policy, is_rejected=is_rejected)
            calls = max(calls, renewed)
        return cohort.size * calls

    def _policy_of(self, cohort: ScheduledCohort) -> CadencePolicy | None:
        return self._after_limits if cohort.is_after_limits else self._policy

    def take_due(self, now: timedelta, limit: int) -> list[ScheduledCohort]:
        """Take what is due off the schedule, the most overdue first, until `limit` hashes."""
        taken: list[ScheduledCohort] = []
        end = _packed(now + _UNIT, 0)
        while self._heap and self._heap[0] < end and limit > 0:
            taken.append(_unpacked(heappop(self._heap)))
            limit -= taken[-1].size
        return taken

    def put_back(self, due: Iterable[ScheduledCohort], at: timedelta) -> None:
        """Schedule cohorts again, unchanged, for that time."""
        for each in due:
            self.put(each, at)

    def put(self, cohort: ScheduledCohort, due: timedelta) -> None:
        """Schedule a cohort for that time, unless it is never asked about."""
        if self._policy_of(cohort) is None:
            return
        size = cohort.size | _AFTER_LIMITS * cohort.is_after_limits | _GROUP * cohort.is_group
        size |= _INCLUDED * cohort.is_included | _REJECTED * cohort.is_rejected
        about = cohort.cohort_id << _SIZE_BITS | size
        heappush(self._heap, _packed(due, about << _TIME_BITS | _number(cohort.born)))

    def clear(self) -> None:
        self._heap.clear()
        self._renewed.clear()


def _number(time: timedelta) -> int:
    return time // _UNIT + _AGES_AGO


def _packed(due: timedelta, about: int) -> int:
    return _number(due) << (_ID_BITS + _SIZE_BITS + _TIME_BITS) | about


def _unpacked(entry: int) -> ScheduledCohort:
    born = (entry & ((1 << _TIME_BITS) - 1)) - _AGES_AGO
    about = entry >> _TIME_BITS
    size = about & ((1 << _SIZE_BITS) - 1)
    cohort_id = about >> _SIZE_BITS & ((1 << _ID_BITS) - 1)
    flags = (bool(size & each) for each in (_AFTER_LIMITS, _GROUP, _INCLUDED, _REJECTED))
    return ScheduledCohort(cohort_id, born * _UNIT, size % _REJECTED, *flags)
