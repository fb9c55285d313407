"""What a fee did during a time range, step by step: levels, share of busy time, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.quantity import Wei
from dashboard.show.text import share
from dashboard.store.fees.rollup_arrays import Integers
from dashboard.store.fees.steps import FeeMeans, FeeStep, FeeSteps, Floats
from dashboard.store.schema.columns import milliseconds_of, moment_of

Stretch: TypeAlias = tuple[datetime, datetime]
Booleans: TypeAlias = npt.NDArray[np.bool_]

_GAP_AFTER_PERIODS: Final = 3
_MANY: Final = 10
_MOST_HEIGHTS: Final = 20
"""How often a level may cross the height of the highest fee and still be read as a line."""

_MILLISECOND: Final = timedelta(milliseconds=1)


class BusyCounts(NamedTuple):
    """How many values of each step were compared with the threshold, and how many were above."""

    judged: Integers
    above: Integers

    @classmethod
    def of(cls, steps: FeeSteps, busy: FeeMeans) -> Self:
        """Count the values of 1 (busy) and 0 that lie within each step."""
        places = np.maximum(np.searchsorted(steps.first_at, busy.first_at, side="right") - 1, 0)
        above = np.rint(busy.means * busy.values)
        judged, above = (
            np.bincount(places, each, len(steps)).astype(np.int64) for each in (busy.values, above)
        )
        return cls(judged, above)


@dataclass(frozen=True)  # without slots: what is computed is kept beside the fields
class FeeTimeline:
    """The steps of a fee until a moment, with the levels that held at each, None where unknown.

    A silence longer than `longest_step` is a gap; one longer than `longest_silence` is reported
    where it lies within a step. The chart begins at `since`, perhaps before the first step.
    `usual` and `threshold` have as many values as `steps`, at least one. Where each block is seen,
    a value comes every `value_time`, as far as that is known. `busy` is None where it is not
    counted. Arrays have an element for each step.
    """

    steps: FeeSteps
    usual: Integers | None
    threshold: Integers | None
    longest_step: timedelta
    longest_silence: timedelta
    since: datetime
    until: datetime
    value_time: timedelta | None = None
    busy: BusyCounts | None = None

    @property
    def is_flat(self) -> bool:
        """Whether the fee had one value all the time."""
        return self.lowest == self.highest

    @cached_property
    def lowest(self) -> Wei:
        """The lowest fee seen."""
        return Wei(int(self.steps.lowest.min()))

    @cached_property
    def highest(self) -> Wei:
        """The highest fee seen."""
        return Wei(int(self.steps.highest.max()))

    @cached_property
    def largest(self) -> Wei:
        """The largest of the fees, and of the levels that can be read."""
        known = (each for each in (self.usual, self.threshold) if each is not None)
        levels = (Wei(int(each.max())) for each in known if self.can_be_read(each))
        return max([self.highest, *levels])

    @cached_property
    def has_band(self) -> bool:
        """Whether a step saw more than one fee."""
        return bool((self.steps.lowest != self.steps.highest).any())

    @cached_property
    def holds_many(self) -> bool:
        """Whether the steps hold so many values that percentiles say more than the mean."""
        return self.has_band and bool(self.steps.values.mean() >= _MANY)

    @cached_property
    def is_followed(self) -> Booleans:
        """Whether no gap lies between a step and the next one, or now."""
        return self._following - self.steps.last_at <= self.longest_step // _MILLISECOND

    @cached_property
    def ends(self) -> Integers:
        """When each step ends: where the next one begins, or at its last value before a gap."""
        return np.where(self.is_followed, self._following, self.steps.last_at)

    @cached_property
    def busy_parts(self) -> Floats:
        """The share of each step that was busy, of what was compared; NaN where nothing was."""
        parts = np.full(len(self.steps), np.nan)
        if self.busy is not None:
            np.divide(self.busy.above, self.busy.judged, out=parts, where=self.busy.judged > 0)
        return parts

    @cached_property
    def begins_late(self) -> bool:
        """Whether nothing was seen for longer than a gap before the first step."""
        unseen = self.steps.first_at[0] - milliseconds_of(self.since)
        return bool(unseen > self.longest_step // _MILLISECOND)

    @cached_property
    def unseen_edges(self) -> Integers:
        """When nothing was seen: before the first step, if that is long, and in each gap."""
        first = [[milliseconds_of(self.since), self.steps.first_at[0]]] if self.begins_late else []
        return np.concatenate([np.array(first, np.int64).reshape(-1, 2), self.gap_edges])

    @cached_property
    def gap_edges(self) -> Integers:
        """When each gap begins and ends, oldest first, in rows of two; also the one that lasts."""
        return np.stack([self.steps.last_at, self._following], axis=1)[~self.is_followed]

    def gaps(self) -> list[Stretch]:
        """Return the times of which nothing is known, oldest first."""
        return _stretches(self.gap_edges)

    def silences_inside(self) -> list[FeeStep]:
        """Return the steps within which nothing was seen for longer than usual, oldest first.

        A silence that the first value of a step ended lies before it.
        """
        gaps, lasted = self.steps.longest_gaps, self.steps.last_at - self.steps.first_at
        is_silent = (self.longest_silence // _MILLISECOND < gaps) & (gaps <= lasted)
        return [self.steps[place] for place in np.flatnonzero(is_silent).tolist()]

    def judged_share(self) -> float:
        """Return the share of the known time in which fees were compared with a threshold."""
        return float(self._judged_lengths.sum() / self._lengths.sum())

    def busy_share(self) -> float | None:
        """Return the share of busy time in the time that was compared; None where none was."""
        lengths = self._judged_lengths
        if not lengths.any():
            return None
        return float((lengths * np.nan_to_num(self.busy_parts)).sum() / lengths.sum())

    def can_be_read(self, level: Integers) -> bool:
        """Whether a level can be read as a line, or moves up and down too often for that."""
        travelled = float(np.abs(np.diff(level)).sum(dtype=float))
        return travelled <= _MOST_HEIGHTS * max(self.highest, 1)

    def block_share(self) -> float | None:
        """Return the share of blocks that was seen, gaps aside; None where no pace is known."""
        if self.value_time is None:
            return None
        known = int((self.ends - self.steps.first_at).sum())
        expected = known / (self.value_time / _MILLISECOND)
        return min(1.0, int(self.steps.values.sum()) / expected) if expected else 1.0

    @cached_property
    def _lengths(self) -> Integers:
        """How long each step is known, in milliseconds; 1 for each where all of them are 0."""
        lengths = self.ends - self.steps.first_at
        return lengths if lengths.any() else np.ones_like(lengths)

    @cached_property
    def _judged_lengths(self) -> Floats:
        """How much of each step was compared with a threshold, in milliseconds."""
        if self.busy is None:
            return np.zeros(len(self.steps))
        parts = np.minimum(self.busy.judged / self.steps.values, 1.0)
        judged: Floats = parts * self._lengths
        return judged

    @cached_property
    def _following(self) -> Integers:
        """When the next step begins, or now."""
        return np.append(self.steps.first_at[1:], milliseconds_of(self.until))


def busy_in_words(story: FeeTimeline) -> str | None:
    """Say how long it was busy, None where no threshold is known."""
    if story.threshold is None:
        return None
    if story.busy is None:
        return "How long it was busy is not counted where the base fee never moves."
    busy, judged = story.busy_share(), story.judged_share()
    if busy is None:
        return "How long it was busy was not counted then."
    of = "the time that was seen"
    if share(judged) != share(1.0):
        of = f"the time that was judged, which is {_share_or_less(judged)} of {of}"
    return f"Above the busy threshold for {_share_or_less(busy)} of {of}."


def _share_or_less(part: float) -> str:
    """Print a share; 0 % only where it is none at all."""
    return "less than 1%" if part > 0 and share(part) == share(0.0) else share(part)


def longest_usual_silence(steps: FeeSteps, period: timedelta) -> timedelta:
    """Return the longest silence that is usual, where values are asked for every `period`.

    It follows from what was seen, since another period may have been configured then.
    """
    silences = np.sort(steps.first_at[1:] - steps.last_at[:-1])
    usual = int(silences[len(silences) // 2]) * _MILLISECOND if len(silences) else period
    return _GAP_AFTER_PERIODS * max(period, usual)


def _stretches(edges: Integers) -> list[Stretch]:
    return [(moment_of(begins), moment_of(ends)) for begins, ends in edges.tolist()]
