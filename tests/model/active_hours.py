"""Active hours in the plain model: looked up minute by minute, as clocks on the wall show them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from dashboard.domain.people.active_hours import ActiveHours

_MINUTE: Final = timedelta(minutes=1)


@cache
def opens_after(hours: ActiveHours, at: datetime) -> datetime:
    """Return the first minute after a moment that is one of the hours."""
    return next(each for each in _minutes_after(at) if is_active(hours, each))


def is_active(hours: ActiveHours, at: datetime) -> bool:
    """Whether clocks on the wall show one of the hours."""
    local = at.astimezone(ZoneInfo(hours.zone))
    today, minute = local.weekday(), local.hour * 60 + local.minute
    for span in hours.spans:
        is_overnight = span.ends <= span.begins
        ends = span.ends + (24 * 60 if is_overnight else 0)
        if today in span.days and span.begins <= minute < ends:
            return True
        yesterday = (today - 1) % 7
        if is_overnight and yesterday in span.days and minute + 24 * 60 < ends:
            return True
    return False


def _minutes_after(at: datetime) -> Iterator[datetime]:
    whole = at.replace(second=0, microsecond=0)
    for count in range(1, 16 * 24 * 60):
        yield whole + count * _MINUTE
