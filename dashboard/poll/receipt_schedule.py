"""The schedule of follow-ups in memory: hashes of one age are asked about together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heappop, heappush
from itertools import count
from typing import Final

from dashboard.domain.quantity import TxHash
from dashboard.poll.intervals import CadencePolicy, next_check, next_try

_SAME_TIME: Final = timedelta(seconds=1)
"""Hashes born within this share one schedule."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A hash to put on the schedule.

    `born` is when its age began and `asked` when it was last asked about, None for never: both
    in elapsed time.
    """

    tx_hash: TxHash
    born: timedelta
    asked: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Cohort:
    """Hashes of one age, due at one time."""

    born: timedelta
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
        groups: defaultdict[tuple[timedelta, timedelta], list[TxHash]] = defaultdict(list)
        for each in watched:
            due = self._due(each, now)
            if due is not None:
                groups[_whole(max(due, now)), _whole(each.born)].append(each.tx_hash)
        for (due, born), hashes in groups.items():
            self._push(due, Cohort(born, hashes))

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

    def ask_again(self, cohort: Cohort, now: timedelta, *, is_answered: bool) -> None:
        """Schedule the next question about a cohort after one answer for all its hashes."""
        age = now - cohort.born
        wait = next_check(age, self._policy) if is_answered else next_try(age, self._policy)
        if wait is not None:
            self._push(now + wait, cohort)

    def _due(self, watched: Watched, now: timedelta) -> timedelta | None:
        """Return when to ask; None where the last question was answered already."""
        if watched.asked is None:
            return now
        asked = min(watched.asked, now)  # stored by a clock that was ahead
        wait = next_check(asked - watched.born, self._policy)
        return None if wait is None else asked + wait

    def _push(self, due: timedelta, cohort: Cohort) -> None:
        for start in range(0, len(cohort.hashes), self._largest):
            part = Cohort(cohort.born, cohort.hashes[start : start + self._largest])
            heappush(self._heap, (due, next(self._order), part))


def _whole(moment: timedelta) -> timedelta:
    return moment // _SAME_TIME * _SAME_TIME
