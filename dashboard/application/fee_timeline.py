"""A fee during a time range, step by step: levels, busy share, gaps and busy spells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.fees.busy_spells import BusyTime
from dashboard.domain.formatting import counted, share, share_or_less
from dashboard.domain.health.coverage import Stretch
from dashboard.domain.quantity import Wei
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.series import FeeMeans, FeeStep, FeeSteps, Floats
from dashboard.store.schema.columns import milliseconds_of, moment_of

Booleans: TypeAlias = npt.NDArray[np.bool_]

_GAP_AFTER_PERIODS: Final = 3
_MANY: Final = 10
_MOST_HEIGHTS: Final = 20
"""A level is readable as a line if its total movement is at most so many times the highest fee."""

_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)  # no slots: computed values are cached beside the fields
class FeeTimeline:
    """The steps of a fee up to a moment, with the levels at each step, None if unknown.

    A pause between two steps longer than `longest_pause_between` is a gap; a pause within a step
    longer than `longest_pause_within` is reported. The chart begins at `since`, which may be before
    the first step. `usual` and `threshold` have as many values as `steps`, at least one. If each
    block is seen, a value comes every `value_time`, if that is known. Arrays have one element for
    each step.
    """

    steps: FeeSteps
    usual: Integers | None
    threshold: Integers | None
    longest_pause_between: timedelta
    longest_pause_within: timedelta
    since: datetime
    until: datetime
    value_time: timedelta | None = None
    busy: BusyTime = field(default_factory=BusyTime)

    @property
    def is_flat(self) -> bool:
        return self.lowest == self.highest

    @cached_property
    def lowest(self) -> Wei:
        return Wei(int(self.steps.lowest.min()))

    @cached_property
    def highest(self) -> Wei:
        return Wei(int(self.steps.highest.max()))

    @cached_property
    def largest(self) -> Wei:
        """The largest of the fees and of the readable levels."""
        known = (each for each in (self.usual, self.threshold) if each is not None)
        levels = (Wei(int(each.max())) for each in known if self.can_be_read(each))
        return max([self.highest, *levels])

    @cached_property
    def has_band(self) -> bool:
        """Whether any step has more than one fee."""
        return bool((self.steps.lowest != self.steps.highest).any())

    @cached_property
    def holds_many(self) -> bool:
        """Whether steps have so many values that percentiles say more than the mean."""
        return self.has_band and bool(self.steps.values.mean() >= _MANY)

    @cached_property
    def is_followed(self) -> Booleans:
        """Whether there is no gap between a step and the next one, or now."""
        return self._following - self.steps.last_at <= self.longest_pause_between // _MILLISECOND

    @cached_property
    def ends(self) -> Integers:
        """When each step ends: where the next one begins, or before a gap, at its last value."""
        return np.where(self.is_followed, self._following, self.steps.last_at)

    @cached_property
    def busy_parts(self) -> Floats:
        """The busy share of the watched part of each step; NaN if nothing was watched."""
        return busy_shares(self.busy, self.steps.first_at, self.ends)

    @cached_property
    def has_brief_peaks(self) -> bool:
        """Whether fees were above the threshold in steps without a busy spell."""
        if self.threshold is None:
            return False
        is_calm = np.nan_to_num(self.busy_parts) == 0
        return bool((is_calm & (self.steps.highest > self.threshold)).any())

    @cached_property
    def begins_late(self) -> bool:
        """Whether there is a gap before the first step."""
        unseen = self.steps.first_at[0] - milliseconds_of(self.since)
        return bool(unseen > self.longest_pause_between // _MILLISECOND)

    @cached_property
    def unseen_edges(self) -> Integers:
        """The edges of times without a fee: before the first step, if that is long, and gaps."""
        return pause_edges(self.steps, self.longest_pause_between, self.since, self.until)

    def gaps(self) -> list[Stretch]:
        """Return the gaps since the first step, oldest first."""
        edges = self.unseen_edges[int(self.begins_late) :]
        return [(moment_of(begins), moment_of(ends)) for begins, ends in edges.tolist()]

    def pauses_inside(self) -> list[FeeStep]:
        """Return the steps with an unusually long pause inside, oldest first.

        A pause that the first value of a step ended lies before the step.
        """
        gaps, lasted = self.steps.longest_gaps, self.steps.last_at - self.steps.first_at
        is_pause = (self.longest_pause_within // _MILLISECOND < gaps) & (gaps <= lasted)
        return [self.steps[place] for place in np.flatnonzero(is_pause).tolist()]

    def can_be_read(self, level: Integers) -> bool:
        """Whether a level is readable as a line, or moves up and down too often."""
        travelled = float(np.abs(np.diff(level)).sum(dtype=float))
        return travelled <= _MOST_HEIGHTS * max(self.highest, 1)

    def block_share(self) -> float | None:
        """Return the share of blocks that was seen, gaps aside; None without a block time."""
        if self.value_time is None:
            return None
        known = int((self.ends - self.steps.first_at).sum())
        expected = known / (self.value_time / _MILLISECOND)
        return min(1.0, int(self.steps.values.sum()) / expected) if expected else 1.0

    @cached_property
    def _following(self) -> Integers:
        """When the next step begins, or now."""
        return np.append(self.steps.first_at[1:], milliseconds_of(self.until))


def busy_in_words(timeline: FeeTimeline) -> str | None:
    """Say how long it was busy; None if no threshold is known."""
    if timeline.threshold is None:
        return None
    watched, part = timeline.busy.watched, timeline.busy.share
    if watched is None or part is None:
        return "The busy time is not known: the network was not watched."
    seen = watched.watched / watched.length
    of = "the time"
    if share(seen) != share(1.0):
        of = f"the time that was watched ({share_or_less(seen)} of this range)"
    spells = f", in {counted(len(timeline.busy.spells), 'spell')}" if timeline.busy.spells else ""
    peaks = " Brief peaks above the threshold do not count." if timeline.has_brief_peaks else ""
    return f"Busy for {share_or_less(part)} of {of}{spells}.{peaks}"


def busy_shares(busy: BusyTime, begins: Integers, ends: Integers) -> Floats:
    """Return the busy share of each time (milliseconds); NaN if nobody watched."""
    parts = np.full(len(begins), np.nan)
    if busy.watched is None:
        return parts
    missed, not_calm = (
        _lengths_within(each.missed, begins, ends)
        for each in (busy.watched, busy.calm(busy.watched))
    )
    watched = ends - begins - missed
    np.divide(not_calm - missed, watched, out=parts, where=watched > 0)
    return parts


def _lengths_within(stretches: Sequence[Stretch], begins: Integers, ends: Integers) -> Integers:
    """Return how much of each time the stretches cover, which are sorted and disjoint."""
    if not stretches:
        return np.zeros_like(begins)
    edges = np.array([[milliseconds_of(edge) for edge in each] for each in stretches], np.int64)
    before = np.append(0, np.cumsum(edges[:, 1] - edges[:, 0]))

    def until(at: Integers) -> Integers:
        places = np.searchsorted(edges[:, 0], at, side="right")
        beyond = np.maximum(edges[places - 1, 1] - at, 0)
        found: Integers = before[places] - np.where(places > 0, beyond, 0)
        return found

    return until(ends) - until(begins)


def pause_edges(
    steps: FeeSteps | FeeMeans, longest_pause: timedelta, since: datetime, until: datetime
) -> Integers:
    """Return the begin and end of each pause longer than `longest_pause`, oldest first, as rows."""
    edges = np.stack(
        [
            np.append(milliseconds_of(since), steps.last_at),
            np.append(steps.first_at, milliseconds_of(until)),
        ],
        axis=1,
    )
    found: Integers = edges[edges[:, 1] - edges[:, 0] > longest_pause // _MILLISECOND]
    return found


def longest_usual_pause(steps: FeeSteps | FeeMeans, period: timedelta) -> timedelta:
    """Return the longest pause that is still usual if values are polled every `period`.

    It also considers the pauses that were seen, since another period may have been configured then.
    """
    pauses = np.sort(steps.first_at[1:] - steps.last_at[:-1])
    usual = int(pauses[len(pauses) // 2]) * _MILLISECOND if len(pauses) else period
    return _GAP_AFTER_PERIODS * max(period, usual)


Counts: TypeAlias = Sequence[tuple[datetime, int]]
"""Counts, each with the beginning of its time."""


class FeeMarks(NamedTuple):
    """What happened while a fee moved: rejections that arrived, and incidents that opened."""

    arrivals: Counts = ()
    incidents: Counts = ()


NO_MARKS: Final = FeeMarks()
