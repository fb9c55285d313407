"""Digests: when a recipient gets one, by the clocks of their own time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final

from dashboard.domain.active_hours import DAYS
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

_FORM: Final = re.compile(
    r"(?:daily|weekly (?P<day>[a-z]{3})) (?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)", re.ASCII
)
_LONGEST: Final = 40
_DAYS_BACK: Final = 15
"""Within these a time of the week came even where the clocks skipped it once."""


@dataclass(frozen=True, slots=True)
class DigestTime:
    """A time of every day, or of one day of every week, which counts from Monday as 0."""

    hour: int
    minute: int
    weekday: int | None = None

    @classmethod
    def parse(cls, text: str) -> DigestTime:
        """Read ``daily 08:00`` or ``weekly mon 08:00``; InputError for another form."""
        match = _FORM.fullmatch(text.strip().lower()[:_LONGEST])
        day = None if match is None else match["day"]
        if match is None or not (day is None or day in DAYS):
            raise InputError(
                f"{shorten(text)} is no time of a digest: write daily 08:00 or weekly mon 08:00"
            )
        weekday = None if day is None else DAYS.index(day)
        return cls(int(match["hour"]), int(match["minute"]), weekday)

    def __str__(self) -> str:
        often = "daily" if self.weekday is None else f"weekly {DAYS[self.weekday]}"
        return f"{often} {self.hour:02d}:{self.minute:02d}"

    @property
    def is_weekly(self) -> bool:
        """Whether it comes once a week; else every day."""
        return self.weekday is not None

    def latest(self, now: datetime, zone: tzinfo) -> datetime:
        """Return when it came last, in UTC; an hour that clocks skip comes after they are set."""
        today = now.astimezone(zone).date()
        days = (today - timedelta(days=back) for back in range(_DAYS_BACK))
        moments = (
            datetime.combine(day, time(self.hour, self.minute), zone).astimezone(UTC)
            for day in days
            if self.weekday in {None, day.weekday()}
        )
        return next(each for each in moments if each <= now)
