"""The time ranges of charts of fees and rejections, and a time chosen in a chart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class TimeRange(Struct, frozen=True):
    """The length of time that a chart shows, and its step."""

    name: str
    length: timedelta
    step: timedelta

    def begins_at(self, until: datetime) -> datetime:
        """Return when a chart that ends at a moment begins, rounded down to a whole step.

        Steps are counted from 1970 in UTC, as the store counts minutes, hours and days.
        """
        return _EPOCH + (until - self.length - _EPOCH) // self.step * self.step


TIME_RANGES: Final = (
    TimeRange("10 min", timedelta(minutes=10), timedelta(seconds=1)),
    TimeRange("1 h", timedelta(hours=1), timedelta(seconds=2)),
    TimeRange("6 h", timedelta(hours=6), timedelta(minutes=1)),
    TimeRange("24 h", timedelta(days=1), timedelta(minutes=2)),
    TimeRange("7 d", timedelta(days=7), timedelta(hours=1)),
    TimeRange("30 d", timedelta(days=30), timedelta(hours=1)),
    TimeRange("90 d", timedelta(days=90), timedelta(hours=3)),
    TimeRange("1 y", timedelta(days=365), timedelta(days=1)),
    TimeRange("3 y", timedelta(days=3 * 365 + 1), timedelta(days=2)),
    TimeRange("10 y", timedelta(days=10 * 365 + 3), timedelta(days=7)),
)
"""All ranges, with steps that fit a screen. From 6 h on, a step is whole minutes, hours or days:
they are read from roll-ups, at most 3,700, and never value by value."""

_SHORTEST: Final = timedelta(seconds=20)


class Zoom(NamedTuple):
    """A time that was chosen in a chart, in UTC."""

    since: datetime
    until: datetime

    @property
    def step(self) -> timedelta:
        """The step of the shortest range that is as long."""
        fitting = (each for each in TIME_RANGES if each.length >= self.until - self.since)
        return next(fitting, TIME_RANGES[-1]).step

    @property
    def begins_at(self) -> datetime:
        return self.since - (self.since - _EPOCH) % self.step

    @property
    def name(self) -> str:
        is_short = self.until - self.since < _MINUTES_FROM
        style = "%d %b %Y %H:%M:%S" if is_short else "%d %b %Y %H:%M"
        return f"{self.since:{style}} to {self.until:{style}} UTC"


def zoomed(since: datetime, until: datetime, now: datetime) -> Zoom | None:
    """Return the time between two moments in either order, at most until now.

    None if it is shorter than 20 seconds, or if no chart reaches that far.
    """
    since, until = min(since, until), min(max(since, until), now)
    is_drawn = until - since >= _SHORTEST and since >= now - TIME_RANGES[-1].length
    return Zoom(since, until) if is_drawn else None


_MINUTES_FROM: Final = timedelta(minutes=30)
_ALWAYS: Final = timedelta(days=7)
"""Offered from the first day on, so that Fees offers at least as much as the Overview shows."""


def offered_time_ranges(first_seen_at: datetime | None, now: datetime) -> tuple[TimeRange, ...]:
    """Return the ranges up to the first that shows everything stored, and always up to a week."""
    kept = _ALWAYS if first_seen_at is None else max(now - first_seen_at, _ALWAYS)
    needed = next(
        (i for i, time_range in enumerate(TIME_RANGES) if time_range.length >= kept),
        len(TIME_RANGES) - 1,
    )
    return TIME_RANGES[: needed + 1]
