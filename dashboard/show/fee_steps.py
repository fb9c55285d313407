"""What a fee did during a span of time, step by step: levels, busy times, gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dashboard.domain.quantity import Wei
from dashboard.store.fee_series import FeeStep
from dashboard.store.observations import Dated

Stretch: TypeAlias = tuple[datetime, datetime]
Times: TypeAlias = npt.NDArray[np.int64]
"""Milliseconds since 1970."""

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_GAP_AFTER_PERIODS: Final = 3
_MANY: Final = 10
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)  # without slots: what is computed is kept beside the fields
class FeeStory:
    """The steps of a fee until a moment, with the levels that held at each, None where unknown.

    A silence of more than `longest_step` is a gap; one of more than `longest_silence` is told
    where it lies inside of a step. `usual` and `threshold` are as long as `steps`; at least one.
    Arrays have an element for each step.
    """

    steps: Sequence[FeeStep]
    usual: Sequence[Wei | None]
    threshold: Sequence[Wei | None]
    longest_step: timedelta
    longest_silence: timedelta
    until: datetime

    @property
    def is_flat(self) -> bool:
        """Whether the fee had one value all the time."""
        return self.lowest == self.highest

    @cached_property
    def lowest(self) -> Wei:
        """The lowest fee seen."""
        return min(step.lowest for step in self.steps)

    @cached_property
    def highest(self) -> Wei:
        """The highest fee seen."""
        return max(step.highest for step in self.steps)

    @cached_property
    def first(self) -> Times:
        """When the first value of each step was seen."""
        return _milliseconds(step.first_at for step in self.steps)

    @cached_property
    def last(self) -> Times:
        """When the last value of each step was seen."""
        return _milliseconds(step.last_at for step in self.steps)

    @cached_property
    def means(self) -> Floats:
        """The mean of each step, in wei."""
        return np.array([step.mean for step in self.steps])

    @cached_property
    def lowests(self) -> Floats:
        """The lowest fee of each step, in wei."""
        return np.array([step.lowest for step in self.steps], np.float64)

    @cached_property
    def highests(self) -> Floats:
        """The highest fee of each step, in wei."""
        return np.array([step.highest for step in self.steps], np.float64)

    @cached_property
    def medians(self) -> Floats:
        """The median of each step, in wei."""
        return np.array([step.median for step in self.steps], np.float64)

    @cached_property
    def tops(self) -> Floats:
        """The 90th percentile of each step, in wei."""
        return np.array([step.p90 for step in self.steps], np.float64)

    @cached_property
    def has_band(self) -> bool:
        """Whether a step saw more than one fee."""
        return any(step.lowest != step.highest for step in self.steps)

    @cached_property
    def holds_many(self) -> bool:
        """Whether the steps hold so many values that percentiles say more than the mean."""
        values = sum(step.values for step in self.steps)
        return self.has_band and values >= _MANY * len(self.steps)

    @cached_property
    def is_followed(self) -> Mask:
        """Whether no gap lies between a step and the next one, or now."""
        return self._following - self.last <= self.longest_step // _MILLISECOND

    @cached_property
    def ends(self) -> Times:
        """Until when a step says something: to the next one, or to its last value."""
        return np.where(self.is_followed, self._following, self.last)

    @cached_property
    def is_busy(self) -> Mask:
        """Whether the mean of a step lies above the threshold that held when it began."""
        return self.means > as_floats(self.threshold)

    @cached_property
    def gap_edges(self) -> Times:
        """When each gap begins and ends, oldest first, in rows of two; also the one that lasts."""
        return np.stack([self.last, self._following], axis=1)[~self.is_followed]

    @cached_property
    def busy_edges(self) -> Times:
        """When each busy stretch begins and ends, in rows of two; steps that touch are joined."""
        touches = self.is_busy[:-1] & self.is_busy[1:] & (self.ends[:-1] == self.first[1:])
        begins = self.is_busy & ~np.append(False, touches)
        stops = self.is_busy & ~np.append(touches, False)
        return np.stack([self.first[begins], self.ends[stops]], axis=1)

    def gaps(self) -> list[Stretch]:
        """Return the times of which nothing is known, oldest first."""
        return _stretches(self.gap_edges)

    def busy_stretches(self) -> list[Stretch]:
        """Return the times of busy steps, oldest first."""
        return _stretches(self.busy_edges)

    def silences_inside(self) -> list[FeeStep]:
        """Return the steps within which nothing was seen for longer than usual, oldest first."""
        return [step for step in self.steps if self._is_silent_inside(step)]

    def busy_share(self) -> float | None:
        """Return the share of busy time in the time that is known, None where no level is."""
        if all(threshold is None for threshold in self.threshold):
            return None
        lengths = self.ends - self.first
        known = int(lengths.sum())
        return int(lengths[self.is_busy].sum()) / known if known else float(self.is_busy[-1])

    @cached_property
    def _following(self) -> Times:
        return np.append(self.first[1:], _milliseconds([self.until]))

    def _is_silent_inside(self, step: FeeStep) -> bool:
        """Tell a silence inside from one that the first value of a step ended."""
        return self.longest_silence < step.longest_gap <= step.last_at - step.first_at


def as_floats(levels: Sequence[Wei | None]) -> Floats:
    """Return levels as numbers for drawing and comparing, in wei; not a number where unknown."""
    return np.array([np.nan if level is None else level for level in levels], np.float64)


def longest_usual_silence(steps: Sequence[FeeStep], period: timedelta) -> timedelta:
    """Return how long a silence is usual, where values are asked for every `period`.

    It follows what was seen, since the period may have been another one then.
    """
    silences = sorted(after.first_at - before.last_at for before, after in pairwise(steps))
    usual = silences[len(silences) // 2] if silences else period
    return _GAP_AFTER_PERIODS * max(period, usual)


def levels_at(steps: Sequence[FeeStep], marks: Sequence[Dated[Wei]]) -> list[Wei | None]:
    """Return the level that held when each step began; the first mark also holds before itself.

    A mark is asked for a moment after the fee that it belongs to, and far more seldom.
    """
    if not marks:
        return [None] * len(steps)
    asked = _milliseconds(mark.asked_at for mark in marks)
    began = _milliseconds(step.first_at for step in steps)
    places = np.maximum(np.searchsorted(asked, began, side="right") - 1, 0)
    return [marks[place].value for place in places.tolist()]


def _milliseconds(moments: Iterable[datetime]) -> Times:
    return np.rint([at.timestamp() * 1000 for at in moments]).astype(np.int64)


def _stretches(edges: Times) -> list[Stretch]:
    return [(_moment(begins), _moment(ends)) for begins, ends in edges.tolist()]


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + milliseconds * _MILLISECOND
