"""Rejections over time: periods, steps, and how far over a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.time_ranges import Zoom
from dashboard.domain.formatting import span
from dashboard.domain.rejections.reasons import ReasonKind, overrun, parse_reason
from dashboard.domain.rejections.search import RejectionFilter

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Period(Struct, frozen=True):
    """A length of time up to now, counted in equal steps; `words` name its length."""

    words: str
    length: timedelta
    step: timedelta


PERIODS: Final = {
    "1 h": Period("hour", timedelta(hours=1), timedelta(minutes=2)),
    "24 h": Period("24 h", timedelta(hours=24), timedelta(hours=1)),
    "7 d": Period("7 days", timedelta(days=7), timedelta(hours=6)),
    "30 d": Period("30 days", timedelta(days=30), timedelta(days=1)),
    "1 y": Period("year", timedelta(days=371), timedelta(days=7)),
}
"""The periods to choose from, by their names in the address."""

Shown: TypeAlias = Period | Zoom
"""A period, or a time that was chosen in the chart."""


class Window(Struct, frozen=True):
    """A time from `since` to before `until`, and the steps in which it is counted.

    `words` say which time it is, `length_words` its length, to follow `the`. If `is_open`, it ends
    now.
    """

    since: datetime
    until: datetime
    step: timedelta
    words: str
    length_words: str
    is_open: bool

    @property
    def begins(self) -> tuple[datetime, ...]:
        """The beginnings of the steps, oldest first, at multiples of their length since 1970.

        The first step may begin before the window does, the last may end after it.
        """
        return tuple(self._begins())

    @property
    def before_since(self) -> datetime:
        """The beginning of the time before, which is as long and ends where this one begins."""
        return self.since - (self.until - self.since)

    def within(self, wanted: RejectionFilter) -> RejectionFilter:
        """Return a filter for arrivals within this time."""
        until = None if self.is_open else self.until - _MILLISECOND
        return replace(wanted, since=self.since, until=until)

    def before(self, wanted: RejectionFilter) -> RejectionFilter:
        """Return a filter for arrivals in the time before."""
        return replace(wanted, since=self.before_since, until=self.since - _MILLISECOND)

    def _begins(self) -> Iterator[datetime]:
        begins = self.since - (self.since - _EPOCH) % self.step
        while begins < self.until or (self.is_open and begins == self.until):
            yield begins
            begins += self.step


def window_of(shown: Shown, now: datetime) -> Window:
    if isinstance(shown, Period):
        words = f"in the last {shown.words}"
        return Window(now - shown.length, now, shown.step, words, shown.words, is_open=True)
    length = shown.until - shown.since
    step = next((each for each in _STEPS if length <= _MOST_STEPS * each), _STEPS[-1])
    if length > _IN_SHORT_STEPS:
        step = max(step, timedelta(hours=1))
    words = f"from {shown.name.removesuffix(' UTC')}"
    return Window(shown.since, shown.until, step, words, span(length), is_open=False)


_MOST_STEPS: Final = 48
_IN_SHORT_STEPS: Final = timedelta(hours=6)
"""The longest time with steps of less than an hour."""

_STEPS: Final = (
    *(timedelta(seconds=each) for each in (1, 5, 15, 30)),
    *(timedelta(minutes=each) for each in (1, 2, 5, 10)),
    *(timedelta(hours=each) for each in (1, 3, 6)),
    *(timedelta(days=each) for each in (1, 7, 28, 364)),
)


class SplitBy(StrEnum):
    MODULE = "Module"
    STAGE = "Stage"
    NETWORK = "Network"


NO_MODULE: Final = "no module named"


class Timeline(Struct, frozen=True):
    """Rejections in each step of a time, split into groups, the largest first.

    `groups` holds the name of each group and its count for every step; `unwatched` are the
    beginnings of steps of which at least half was not watched. `ends` are the ends of line limits
    in that time, with the names of the networks.
    """

    window: Window
    split: SplitBy
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    unwatched: frozenset[datetime]
    ends: tuple[tuple[str, datetime], ...] = ()

    @property
    def total(self) -> int:
        return sum(sum(counts) for _, counts in self.groups)


_RANGES: Final = (
    ("to 1.1×", 1.1),
    ("to 1.5×", 1.5),
    ("to 2×", 2.0),
    ("to 5×", 5.0),
    ("to 10×", 10.0),
    ("more", float("inf")),
)
_LIMIT_ZERO: Final = "limit 0"
RANGES: Final = (*(name for name, _ in _RANGES), _LIMIT_ZERO)
"""The ranges, from the smallest overrun on; a limit of 0 has no factor."""


class Overruns(Struct, frozen=True):
    """Rejections in each of `RANGES`; `of` were read, and `largest` is the largest overrun."""

    counts: tuple[int, ...]
    of: int
    largest: float | None

    @property
    def total(self) -> int:
        return sum(self.counts)


def sort_overruns(reasons: Iterable[str]) -> Overruns:
    """Count reasons by how far a limit was exceeded; most sequencer texts state no numbers."""
    counts = dict.fromkeys(RANGES, 0)
    of, largest = 0, None
    for text in reasons:
        of += 1
        reason = parse_reason(text)
        factor = overrun(reason)
        if factor is not None:
            counts[next(name for name, end in _RANGES if factor <= end)] += 1
            largest = factor if largest is None else max(largest, factor)
        elif reason.kind is ReasonKind.OVER_LIMIT and reason.limit == 0:
            counts[_LIMIT_ZERO] += 1
    return Overruns(tuple(counts.values()), of, largest)
