"""What a fee did during a span of time, step by step: levels, busy times, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, TypeAlias

from dashboard.domain.quantity import Wei
from dashboard.store.fee_series import FeeStep
from dashboard.store.observations import Dated

Stretch: TypeAlias = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time that a chart shows, and the steps in which it does."""

    name: str
    length: timedelta
    step: timedelta


_GAP_AFTER_PERIODS: Final = 3

SPANS: Final = (
    Span("15 min", timedelta(minutes=15), timedelta(seconds=1)),
    Span("1 h", timedelta(hours=1), timedelta(seconds=2)),
    Span("6 h", timedelta(hours=6), timedelta(seconds=30)),
    Span("24 h", timedelta(days=1), timedelta(minutes=2)),
    Span("7 d", timedelta(days=7), timedelta(minutes=15)),
    Span("30 d", timedelta(days=30), timedelta(hours=1)),
    Span("90 d", timedelta(days=90), timedelta(hours=3)),
    Span("1 y", timedelta(days=365), timedelta(hours=12)),
)
"""Every length, in some 700 steps each: what a screen can show."""


def spans_worth_offering(first_seen_at: datetime | None, now: datetime) -> tuple[Span, ...]:
    """Return the lengths up to the first that shows all that is kept; the shortest always."""
    kept = timedelta() if first_seen_at is None else now - first_seen_at
    needed = next((i for i, span in enumerate(SPANS) if span.length >= kept), len(SPANS) - 1)
    return SPANS[: needed + 1]


@dataclass(frozen=True, slots=True)
class FeeStory:
    """The steps of a fee until a moment, with the levels that held at each, None where unknown.

    A silence of more than `longest_step` is a gap. `usual` and `threshold` are as long as `steps`.
    """

    steps: Sequence[FeeStep]
    usual: Sequence[Wei | None]
    threshold: Sequence[Wei | None]
    longest_step: timedelta
    until: datetime

    @property
    def is_flat(self) -> bool:
        """Whether the fee had one value all the time."""
        return self.lowest == self.highest

    @property
    def lowest(self) -> Wei:
        """The lowest fee seen."""
        return min(step.lowest for step in self.steps)

    @property
    def highest(self) -> Wei:
        """The highest fee seen."""
        return max(step.highest for step in self.steps)

    def is_busy(self, index: int) -> bool:
        """Whether the mean of a step lies above the threshold that held when it began."""
        threshold = self.threshold[index]
        return threshold is not None and self.steps[index].mean > threshold

    def end_of(self, index: int) -> datetime:
        """Return until when a step says something: to the next one, or to its last value."""
        step = self.steps[index]
        following = self._following(index)
        return following if following - step.last_at <= self.longest_step else step.last_at

    def gaps(self) -> list[Stretch]:
        """Return the times of which nothing is known, oldest first; also the one that lasts."""
        return [
            (step.last_at, self._following(index))
            for index, step in enumerate(self.steps)
            if self._following(index) - step.last_at > self.longest_step
        ]

    def busy_stretches(self) -> list[Stretch]:
        """Return the times of busy steps, oldest first, those that touch joined."""
        stretches: list[Stretch] = []
        for index, step in enumerate(self.steps):
            if not self.is_busy(index):
                continue
            if stretches and stretches[-1][1] == step.first_at:
                stretches[-1] = (stretches[-1][0], self.end_of(index))
            else:
                stretches.append((step.first_at, self.end_of(index)))
        return stretches

    def busy_share(self) -> float | None:
        """Return the share of busy time in the time that is known, None where no level is."""
        if all(threshold is None for threshold in self.threshold):
            return None
        known = sum(
            (self.end_of(index) - step.first_at for index, step in enumerate(self.steps)),
            timedelta(),
        )
        busy = sum((end - begin for begin, end in self.busy_stretches()), timedelta())
        return busy / known if known else float(self.is_busy(len(self.steps) - 1))

    def _following(self, index: int) -> datetime:
        last = index + 1 == len(self.steps)
        return self.until if last else self.steps[index + 1].first_at


def longest_usual_step(steps: Sequence[FeeStep], span: Span, period: timedelta) -> timedelta:
    """Return how long a silence is no gap yet, where values are asked for every `period`.

    It follows what was seen, since the period may have been another one then; and steps of a
    long span are far apart by themselves.
    """
    silences = sorted(after.first_at - before.last_at for before, after in pairwise(steps))
    usual = silences[len(silences) // 2] if silences else period
    return max(_GAP_AFTER_PERIODS * max(period, usual), 2 * span.step)


def levels_at(steps: Sequence[FeeStep], marks: Sequence[Dated[Wei]]) -> list[Wei | None]:
    """Return the level that held when each step began; the first mark also holds before itself.

    A mark is asked for a moment after the fee that it belongs to, and far more seldom.
    """
    if not marks:
        return [None] * len(steps)
    levels: list[Wei | None] = []
    place = 0
    for step in steps:
        while place + 1 < len(marks) and marks[place + 1].asked_at <= step.first_at:
            place += 1
        levels.append(marks[place].value)
    return levels
