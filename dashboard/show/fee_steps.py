"""What a fee did during a span of time, step by step: levels, busy times, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.quantity import Wei
from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.fee_arrays import Integers
from dashboard.store.fee_columns import FeeStep, FeeSteps

Stretch: TypeAlias = tuple[datetime, datetime]
Mask: TypeAlias = npt.NDArray[np.bool_]

_GAP_AFTER_PERIODS: Final = 3
_MANY: Final = 10
_MOST_HEIGHTS: Final = 20
"""How often a line may go the height of the highest fee, up or down, before it is noise."""

_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)  # without slots: what is computed is kept beside the fields
class FeeStory:
    """The steps of a fee until a moment, with the levels that held at each, None where unknown.

    A silence of more than `longest_step` is a gap; one of more than `longest_silence` is told
    where it lies inside of a step. What is shown begins at `since`, perhaps before the first step.
    `usual` and `threshold` are as long as `steps`; at least one. Where each block is seen, a value
    comes every `value_time`, as far as that is known. Arrays have an element for each step.
    """

    steps: FeeSteps
    usual: Integers | None
    threshold: Integers | None
    longest_step: timedelta
    longest_silence: timedelta
    since: datetime
    until: datetime
    value_time: timedelta | None = None

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
    def is_followed(self) -> Mask:
        """Whether no gap lies between a step and the next one, or now."""
        return self._following - self.steps.last_at <= self.longest_step // _MILLISECOND

    @cached_property
    def ends(self) -> Integers:
        """Until when a step says something: to the next one, or to its last value."""
        return np.where(self.is_followed, self._following, self.steps.last_at)

    @cached_property
    def is_busy(self) -> Mask:
        """Whether all of a step lies above the threshold that held when it began."""
        if self.threshold is None:
            return np.zeros(len(self.steps), bool)
        return self.steps.lowest > self.threshold

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

    @cached_property
    def busy_edges(self) -> Integers:
        """When each busy stretch begins and ends, in rows of two; steps that touch are joined."""
        first = self.steps.first_at
        touches = self.is_busy[:-1] & self.is_busy[1:] & (self.ends[:-1] == first[1:])
        begins = self.is_busy & ~np.append(False, touches)
        stops = self.is_busy & ~np.append(touches, False)
        return np.stack([first[begins], self.ends[stops]], axis=1)

    def gaps(self) -> list[Stretch]:
        """Return the times of which nothing is known, oldest first."""
        return _stretches(self.gap_edges)

    def busy_stretches(self) -> list[Stretch]:
        """Return the times of busy steps, oldest first."""
        return _stretches(self.busy_edges)

    def silences_inside(self) -> list[FeeStep]:
        """Return the steps within which nothing was seen for longer than usual, oldest first.

        A silence that the first value of a step ended lies before it.
        """
        gaps, lasted = self.steps.longest_gaps, self.steps.last_at - self.steps.first_at
        is_silent = (self.longest_silence // _MILLISECOND < gaps) & (gaps <= lasted)
        return [self.steps[place] for place in np.flatnonzero(is_silent).tolist()]

    def busy_share(self) -> tuple[float, float] | None:
        """Return the least and the greatest share of busy time in the time that is known.

        A step that lies on both sides of its threshold may have been busy for any part of it. None
        where no level is known.
        """
        if self.threshold is None:
            return None
        lengths = self.ends - self.steps.first_at
        if not lengths.any():
            lengths = np.ones_like(lengths)
        may_be_busy = self.steps.highest > self.threshold
        least, greatest = (lengths[mask].sum() for mask in (self.is_busy, may_be_busy))
        return float(least / lengths.sum()), float(greatest / lengths.sum())

    def can_be_read(self, level: Integers) -> bool:
        """Whether a level is a line, not a noise that goes up and down the chart all the time."""
        way = float(np.abs(np.diff(level)).sum(dtype=float))
        return way <= _MOST_HEIGHTS * max(self.highest, 1)

    def block_share(self) -> float | None:
        """Return the share of blocks that was seen, gaps aside; None where no pace is known."""
        if self.value_time is None:
            return None
        known = int((self.ends - self.steps.first_at).sum())
        expected = known / (self.value_time / _MILLISECOND)
        return min(1.0, int(self.steps.values.sum()) / expected) if expected else 1.0

    @cached_property
    def _following(self) -> Integers:
        return np.append(self.steps.first_at[1:], milliseconds_of(self.until))


def longest_usual_silence(steps: FeeSteps, period: timedelta) -> timedelta:
    """Return how long a silence is usual, where values are asked for every `period`.

    It follows what was seen, since the period may have been another one then.
    """
    silences = np.sort(steps.first_at[1:] - steps.last_at[:-1])
    usual = int(silences[len(silences) // 2]) * _MILLISECOND if len(silences) else period
    return _GAP_AFTER_PERIODS * max(period, usual)


def _stretches(edges: Integers) -> list[Stretch]:
    return [(moment_of(begins), moment_of(ends)) for begins, ends in edges.tolist()]
