"""The hashes whose receipts a node is asked for, in the order of when they are due, in memory.

Those of one age are due together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heappop, heappush
from itertools import count
from typing import Final

from dashboard.domain.quantity import TxHash
from dashboard.poll.next_check import CadencePolicy, next_check, next_try

_SAME_TIME: Final = timedelta(seconds=1)
"""Hashes whose age began within this are asked about together."""


@dataclass(frozen=True, slots=True)
class ScheduledHash:
    """A hash to put on the schedule.

    `born` is when its age began and `asked` when it was last asked about, None for never: both
    in elapsed time.
    """

    tx_hash: TxHash
    born: timedelta
    asked: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ScheduledHashes:
    """Hashes of one age, due at one time."""

    born: timedelta
    hashes: Sequence[TxHash] = field(repr=False)


class ReceiptQueue:
    """A heap of hashes by due time, all in elapsed time.

    At most `largest` hashes are together, so that what is due can be taken in portions.
    """

    def __init__(self, policy: CadencePolicy, largest: int = 1000) -> None:
        """Begin with nothing to ask."""
        self._policy = policy
        self._largest = largest
        self._heap: list[tuple[timedelta, int, ScheduledHashes]] = []
        self._order = count()

    def __len__(self) -> int:
        return sum(len(each.hashes) for _, _, each in self._heap)

    def add(self, hashes: Iterable[ScheduledHash], now: timedelta) -> None:
        """Schedule hashes; those whose last question was answered are left out.

        One that was never asked about is due at once. The others are due when they would have
        been, had this schedule run all along: at once, if that is past.
        """
        groups: defaultdict[tuple[timedelta, timedelta], list[TxHash]] = defaultdict(list)
        for each in hashes:
            due = self._due(each, now)
            if due is not None:
                groups[_whole(max(due, now)), _whole(each.born)].append(each.tx_hash)
        for (due, born), alike in groups.items():
            self._push(due, ScheduledHashes(born, alike))

    def take_due(self, now: timedelta, limit: int) -> list[ScheduledHashes]:
        """Take what is due off the schedule, the most overdue first, until `limit` is reached."""
        taken: list[ScheduledHashes] = []
        hashes = 0
        while self._heap and self._heap[0][0] <= now and hashes < limit:
            _, _, due = heappop(self._heap)
            taken.append(due)
            hashes += len(due.hashes)
        return taken

    def put_back(self, due: Iterable[ScheduledHashes], at: timedelta) -> None:
        """Schedule hashes again, as they were, for that time."""
        for each in due:
            self._push(at, each)

    def reschedule(self, due: ScheduledHashes, now: timedelta, *, is_answered: bool) -> None:
        """Schedule the next question after one that was answered, or not, for all the hashes."""
        age = now - due.born
        wait = next_check(age, self._policy) if is_answered else next_try(age, self._policy)
        if wait is not None:
            self._push(now + wait, due)

    def _due(self, scheduled: ScheduledHash, now: timedelta) -> timedelta | None:
        """Return when to ask; None where the last question was answered already."""
        if scheduled.asked is None:
            return now
        asked = min(scheduled.asked, now)  # stored by a clock that was ahead
        wait = next_check(asked - scheduled.born, self._policy)
        return None if wait is None else asked + wait

    def _push(self, at: timedelta, due: ScheduledHashes) -> None:
        for start in range(0, len(due.hashes), self._largest):
            some = ScheduledHashes(due.born, due.hashes[start : start + self._largest])
            heappush(self._heap, (at, next(self._order), some))


def _whole(moment: timedelta) -> timedelta:
    return moment // _SAME_TIME * _SAME_TIME
