"""Timestamps of the exclusion API: ISO-8601 with a zone or offset, to the millisecond."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from dashboard.domain.quantity import shorten
from dashboard.errors import WireError

_ISO_8601: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
    r"(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)",
    re.ASCII,
)
_LAST_MINUTE: Final = 59


def parse_timestamp(text: str) -> datetime:
    """Read a date-time in UTC; finer than a millisecond is truncated, never rounded.

    Leap seconds, 24:00, week dates, missing offsets and moments outside the years 1 to 9999
    raise WireError.
    """
    match = _ISO_8601.fullmatch(text)
    if match is None:
        raise WireError(f"{shorten(text)} is not an ISO-8601 date-time with zone or offset")
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = match.groups(
        default=""
    )
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            int(second or 0),
            int(f"{fraction:0<3}"[:3]) * 1000,
            tzinfo=_offset(sign, int(hours or 0), int(minutes or 0)),
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise WireError(f"{shorten(text)} is no moment that exists: {error}") from error


def _offset(sign: str, hours: int, minutes: int) -> timezone:
    if minutes > _LAST_MINUTE:
        raise ValueError("offset minutes must be in 0..59")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if sign == "-" else offset)


def format_timestamp(moment: datetime) -> str:
    """Print a moment in UTC with ``Z``, and three decimals unless the milliseconds are zero."""
    naive = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{naive.isoformat(timespec='milliseconds').removesuffix('.000')}Z"
