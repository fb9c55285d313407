"""Active hours: weekly spans in a time zone, correct even when its clocks change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct

from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

Zones: TypeAlias = Callable[[str], tzinfo]
"""Looks up a time zone by name."""

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN: Final = re.compile(
    r"([a-z]{3}(?:[-,][a-z]{3})*) ([0-2]\d):([0-5]\d)-([0-2]\d):([0-5]\d)", re.ASCII
)
_WHOLE_DAY: Final = 24 * 60
_LOOKED_AHEAD: Final = timedelta(days=15)
"""Within this time a weekly span begins even if the clocks skip it once."""

_STEP: Final = timedelta(minutes=30)
"""Clocks change at whole or half hours UTC."""


def utc_only(_: str) -> tzinfo:
    """Return UTC for every time zone."""
    return UTC


class WeekSpan(Struct, frozen=True):
    """Hours on some days of the week: `days` count from Monday (0), times are minutes of the day.

    `ends` is exclusive; if it is not after `begins`, it is on the next day.
    """

    days: tuple[int, ...]
    begins: int
    ends: int

    @classmethod
    def parse(cls, text: str) -> WeekSpan:
        """Parse ``mon-fri 08:00-18:00`` or ``sat,sun 22:00-06:00``; InputError for others."""
        match = _SPAN.fullmatch(text.strip().lower())
        if match is None:
            raise InputError(_unreadable(text))
        begins, ends = (int(match[at]) * 60 + int(match[at + 1]) for at in (2, 4))
        if begins >= _WHOLE_DAY or ends > _WHOLE_DAY or begins == ends:
            raise InputError(_unreadable(text))
        return cls(_days(match[1], text), begins, ends)

    def __str__(self) -> str:
        runs = ",".join(_run(first, last) for first, last in _runs(self.days))
        return f"{runs} {_clock(self.begins)}-{_clock(self.ends)}"

    def holds(self, local: datetime) -> bool:
        """Whether a local time lies in the span."""
        minute, day = local.hour * 60 + local.minute, local.weekday()
        if self.begins < self.ends:
            return day in self.days and self.begins <= minute < self.ends
        if minute >= self.begins:
            return day in self.days
        return minute < self.ends and (day - 1) % len(DAYS) in self.days


class ActiveHours(Struct, frozen=True):
    """When a rule may notify: the hours of all spans, in the local time of a zone.

    `zone` is a name in the time zone database; its rules are an argument, since they are data on
    disk. An hour that the clocks repeat counts twice, one that they skip not at all.
    """

    spans: tuple[WeekSpan, ...]
    zone: str = "UTC"

    def are_on(self, at: datetime, zone: tzinfo) -> bool:
        local = at.astimezone(zone)
        return any(span.holds(local) for span in self.spans)

    def next_on(self, at: datetime, zone: tzinfo) -> datetime:
        """Return the first active moment from `at` on, in UTC."""
        return at.astimezone(UTC) if self.are_on(at, zone) else _next_on(self, at, zone)

    def next_off(self, at: datetime, zone: tzinfo) -> datetime | None:
        """Return the first moment after `at` that is not active, in UTC; None if there is none."""
        turns = self.turns(at, zone)
        later = (each for each in turns if each > at and not self.are_on(each, zone))
        return min(later, default=None)

    def turns(self, at: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Yield when the hours may begin or end: at the times of spans, and when clocks change."""
        today = at.astimezone(zone).date()
        minutes = {each for span in self.spans for each in (span.begins, span.ends % _WHOLE_DAY)}
        for day in (today + timedelta(days=ahead) for ahead in range(_LOOKED_AHEAD.days)):
            for minute in minutes:
                shown = datetime.combine(day, time(minute // 60, minute % 60), zone)
                for fold in (0, 1):
                    yield shown.replace(fold=fold).astimezone(UTC)
        first = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        steps = [first + count * _STEP for count in range(_LOOKED_AHEAD // _STEP)]
        for before, after in pairwise(steps):
            if before.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
                yield after


@lru_cache(maxsize=1_000)
def _next_on(hours: ActiveHours, at: datetime, zone: tzinfo) -> datetime:
    """Return when hours begin that are not on; in a storm it is asked again for each change."""
    later = (each for each in hours.turns(at, zone) if each > at and hours.are_on(each, zone))
    return min(later)


class WeeklyHours(Struct, frozen=True):
    """Hours that repeat every week, with the rules of their time zone."""

    hours: ActiveHours
    zone: tzinfo

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.hours.spans))} {self.hours.zone}"

    def are_on(self, at: datetime) -> bool:
        return self.hours.are_on(at, self.zone)

    def next_on(self, at: datetime) -> datetime:
        """Return the first moment from `at` on at which they are on, in UTC."""
        return self.hours.next_on(at, self.zone)

    def span(self, at: datetime) -> tuple[datetime, datetime | None]:
        """Return when they next begin, from `at` on, and when they end; None if they never end."""
        return _span_of(self, at)


@lru_cache(maxsize=1_000)
def _span_of(weekly: WeeklyHours, at: datetime) -> tuple[datetime, datetime | None]:
    begins = weekly.hours.next_on(at, weekly.zone)
    return begins, weekly.hours.next_off(begins, weekly.zone)


def next_in_all(each_hours: Collection[WeeklyHours], at: datetime) -> datetime | None:
    """Return the first moment from `at` on at which all these hours are on, in UTC.

    None if they never are on together.
    """
    latest = at + _LOOKED_AHEAD
    while at <= latest:
        opens = max(each.next_on(at) for each in each_hours)
        if opens == at:
            return opens
        at = opens
    return None


def _days(text: str, whole: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        names = part.split("-")
        if len(names) > 2 or not set(names) <= set(DAYS):  # noqa: PLR2004 - a first and a last day
            raise InputError(_unreadable(whole))
        first, last = DAYS.index(names[0]), DAYS.index(names[-1])
        found.update((first + step) % len(DAYS) for step in range((last - first) % len(DAYS) + 1))
    return tuple(sorted(found))


def _runs(days: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    first = last = days[0]
    for day in days[1:]:
        if day != last + 1:
            yield first, last
            first = day
        last = day
    yield first, last


def _run(first: int, last: int) -> str:
    return DAYS[first] if first == last else f"{DAYS[first]}-{DAYS[last]}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _unreadable(text: str) -> str:
    return (
        f"{shorten(text)} is not a weekly span: write days and hours, such as "
        "mon-fri 08:00-18:00 or sat,sun 22:00-06:00"
    )
