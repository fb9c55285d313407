"""Meetings: when cohorts of nearly the same age are asked together, to form a poll group.

Cohorts whose age began within the same window of time meet when they are eight times as old as the
window is long. They are asked in one tick then, some of them earlier than they were due, and
together from then on. Each window is part of a four times longer one, so groups meet again and
become larger. This costs some 3% more questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from msgspec import Struct

from dashboard.store.tracking.cohorts import LARGEST_COHORT

_UNIT: Final = timedelta(milliseconds=1)
_WINDOWS: Final = range(12, 24, 2)
"""Lengths of windows in milliseconds, as powers of two: from four seconds to 70 minutes."""

_AGE: Final = 3
"""A meeting is at 2^3 times the length of its window."""

_OFTEN: Final = 4
"""Cohorts asked less often than at each fourth of their age attend no meeting: it would cost much.
"""

_EARLY: Final = timedelta(seconds=1)
"""A question so shortly before a meeting counts as part of it: clocks and ticks are not more exact.
"""


class ScheduledCohort(Struct, frozen=True):
    """A cohort of at most `size` hashes; `born` is when its age began, in elapsed time.

    `is_after_limits`: that was after line limits ended. `is_group`: it stands for all cohorts of
    the poll group with this id, and `born` is that of the youngest. `is_included`: it was in a
    block when it was last asked about. `is_rejected`: it had a record, or the API claimed a block.
    """

    cohort_id: int
    born: timedelta
    size: int
    is_after_limits: bool = False
    is_group: bool = False
    is_included: bool = False
    is_rejected: bool = False

    @property
    def is_full(self) -> bool:
        """Whether nothing can join it."""
        return self.size >= LARGEST_COHORT


def one_group(group_id: int, cohorts: Sequence[ScheduledCohort]) -> ScheduledCohort:
    """Return the group of cohorts: as young as the youngest; from before the end if any is."""
    return ScheduledCohort(
        group_id,
        max(each.born for each in cohorts),
        sum(each.size for each in cohorts),
        all(each.is_after_limits for each in cohorts),
        is_group=True,
    )


class _Meeting(NamedTuple):
    """Cohorts meet if their ages began in the same window, given by its length and number."""

    length: int
    window: int
    at: timedelta


def _meetings(born: timedelta) -> Iterator[_Meeting]:
    """Yield all meetings of what was born then, the first one first."""
    number = born // _UNIT
    for length in _WINDOWS:
        window = number >> length
        yield _Meeting(length, window, ((window + 1 << length) + (1 << length + _AGE)) * _UNIT)


def attended(born: timedelta, asked: timedelta, due: timedelta) -> timedelta:
    """Return when to ask after a question at `asked`: at the next meeting if that is before `due`.

    Times count from a moment that is the same in every process.
    """
    if due - asked > (asked - born) / _OFTEN:
        return due
    later = asked + _EARLY
    return min(due, next((each.at for each in _meetings(born) if each.at > later), due))


def gathered(
    cohorts: Iterable[ScheduledCohort], now: timedelta, epoch: timedelta
) -> Iterator[Sequence[ScheduledCohort]]:
    """Yield the cohorts and groups asked at `now`, merged if they are one group from now on.

    `epoch` is the moment from which `attended` counts.
    """
    alike: defaultdict[object, list[ScheduledCohort]] = defaultdict(list)
    for each in cohorts:
        meetings = [] if each.is_full else _meetings(each.born - epoch)
        past = [it for it in meetings if it.at <= now - epoch + _EARLY]
        if past:
            alike[past[-1], each.is_after_limits].append(each)
        else:
            yield (each,)
    for some in alike.values():
        yield from _packed(some)


def _packed(some: Sequence[ScheduledCohort]) -> Iterator[Sequence[ScheduledCohort]]:
    """Pack as many together as one group may have hashes, the largest first."""
    together: list[ScheduledCohort] = []
    size = 0
    for each in sorted(some, key=lambda it: it.size, reverse=True):
        if size + each.size > LARGEST_COHORT:
            yield together
            together, size = [], 0
        together.append(each)
        size += each.size
    yield together
