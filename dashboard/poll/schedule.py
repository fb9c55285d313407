"""The schedule of questions in memory: hashes tracked together are asked about together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heappop, heappush
from itertools import count
from typing import Final

from dashboard.domain.condition import State
from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.poll.cadence import CadencePolicy, next_check, next_try

_SAME_TIME: Final = timedelta(seconds=1)
"""Hashes born within this share one schedule."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A hash to put on the schedule.

    `born` is when its age began and `asked` when it was last asked about, None for never: both
    in elapsed time. `is_answered` tells whether that last question was answered.
    """

    tx_hash: TxHash
    born: timedelta
    asked: timedelta | None = None
    state: State | None = None
    is_answered: bool = True


@dataclass(frozen=True, slots=True)
class Cohort:
    """Hashes of one age and one state, due at one time."""

    born: timedelta
    state: State | None
    hashes: Sequence[TxHash] = field(repr=False)


class Schedule:
    """A heap of cohorts by due time, all in elapsed time.

    A cohort holds at most `largest` hashes, so that what is due can be taken in portions.
    """

    def __init__(self, policy: CadencePolicy, largest: int = 1000) -> None:
        """Begin with nothing to ask."""
        self._policy = policy
        self._largest = largest
        self._heap: list[tuple[timedelta, int, Cohort]] = []
        self._order = count()

    def __len__(self) -> int:
        return sum(len(cohort.hashes) for _, _, cohort in self._heap)

    def add(self, watched: Iterable[Watched], now: timedelta) -> None:
        """Put hashes on the schedule; those whose last question was answered are left out.

        One that was never asked about is due at once. The others are due when they would have
        been, had this schedule run all along: at once, if that is past.
        """
        groups: defaultdict[tuple[timedelta, timedelta, State | None], list[TxHash]] = defaultdict(
            list
        )
        for each in watched:
            due = self._due(each, now)
            if due is not None:
                born = _whole(each.born)
                groups[_whole(max(due, now)), born, each.state].append(each.tx_hash)
        for (due, born, state), hashes in groups.items():
            self._push(due, Cohort(born, state, hashes))

    def take_due(self, now: timedelta, limit: int) -> list[Cohort]:
        """Take what is due off the schedule, the most overdue first, until `limit` is reached."""
        taken: list[Cohort] = []
        hashes = 0
        while self._heap and self._heap[0][0] <= now and hashes < limit:
            _, _, cohort = heappop(self._heap)
            taken.append(cohort)
            hashes += len(cohort.hashes)
        return taken

    def put_back(self, cohorts: Iterable[Cohort], due: timedelta) -> None:
        """Put cohorts on the schedule again as they were."""
        for cohort in cohorts:
            self._push(due, cohort)

    def reschedule(
        self, cohort: Cohort, answers: Sequence[ExclusionAnswer], now: timedelta
    ) -> None:
        """Schedule the next questions about a cohort after these answers, one for each hash."""
        groups: defaultdict[tuple[State | None, bool], list[TxHash]] = defaultdict(list)
        for answer in answers:
            is_answered = answer.failure is None
            groups[_state_after(cohort.state, answer), is_answered].append(answer.tx_hash)
        for (state, is_answered), hashes in groups.items():
            self.ask_again(Cohort(cohort.born, state, hashes), now, is_answered=is_answered)

    def ask_again(self, cohort: Cohort, now: timedelta, *, is_answered: bool) -> None:
        """Schedule the next question about a cohort after one answer for all its hashes."""
        wait = self._wait(now - cohort.born, cohort.state, is_answered=is_answered)
        if wait is not None:
            self._push(now + wait, cohort)

    def _due(self, watched: Watched, now: timedelta) -> timedelta | None:
        """Return when to ask; None where the last question was answered already."""
        if watched.asked is None:
            return now
        asked = min(watched.asked, now)  # stored by a clock that was ahead
        age = asked - watched.born
        wait = self._wait(age, watched.state, is_answered=watched.is_answered)
        return None if wait is None else asked + wait

    def _wait(self, age: timedelta, state: State | None, *, is_answered: bool) -> timedelta | None:
        if not is_answered:
            return next_try(age, self._policy)
        return next_check(age, self._policy, is_rejected=state is State.REJECTED)

    def _push(self, due: timedelta, cohort: Cohort) -> None:
        for start in range(0, len(cohort.hashes), self._largest):
            part = Cohort(cohort.born, cohort.state, cohort.hashes[start : start + self._largest])
            heappush(self._heap, (due, next(self._order), part))


def _state_after(before: State | None, answer: ExclusionAnswer) -> State | None:
    if answer.record is not None:
        return State.REJECTED
    return before if answer.failure is not None else before or State.UNREPORTED


def _whole(moment: timedelta) -> timedelta:
    return moment // _SAME_TIME * _SAME_TIME
