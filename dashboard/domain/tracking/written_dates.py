"""Dates and times as people write them: every common format that is unambiguous."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from dashboard.domain.formatting import is_far_off
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_MONTH: Final = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_WEEKDAY: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?"
_DATES: Final = (
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    r"(?P<one>\d{1,2})(?P<mark>[-/])(?P<other>\d{1,2})(?P=mark)(?P<year>\d{4})",
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})[- ]{_MONTH}[- ](?P<year>\d{{4}})",
    rf"{_WEEKDAY}{_MONTH}[- ](?P<day>\d{{1,2}})(?:,? |-)(?P<year>\d{{4}})",
)
_CLOCK: Final = (
    r"(?:T|,? )(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?(?: ?(?P<half>[AP])M)?"
    r"(?: ?\(?(?P<zone>Z|\+?UTC|GMT|[-+]\d\d:?\d\d)\)?)?"
)
_FORMS: Final = tuple(
    re.compile(f"{date}(?:{_CLOCK})?", re.ASCII | re.IGNORECASE) for date in _DATES
)
_UNIX: Final = re.compile(r"(\d{10}|\d{13})(?:\.\d{1,9})?", re.ASCII)
_NOON: Final = 12
_REMEDY: Final = "write it as 2026-11-20T12:00:00Z"


def parse_attempt(text: str, now: datetime) -> datetime:
    """Parse when a transaction was sent; without a zone it is UTC.

    InputError if it is not a time with an unambiguous date, or lies in the future.
    """
    moment = read_attempt(text, now)
    if isinstance(moment, str):
        raise InputError(f"{shorten(text)} {moment}")
    return moment


def read_attempt(text: str, now: datetime) -> datetime | str:
    """Return the moment in UTC, or why it cannot be used, in words that follow the text.

    Accepts Unix seconds and milliseconds, and every common date with a time of day that is
    unambiguous.
    """
    try:
        moment = _unix(text) or _written(text)
    except (ValueError, OverflowError):
        moment = None
    if isinstance(moment, str):
        return moment
    if moment is None or is_far_off(moment):
        return f"is not a time; {_REMEDY}"
    return "lies in the future; give the time of the attempt" if moment > now else moment


def _unix(text: str) -> datetime | None:
    match = _UNIX.fullmatch(text)
    if match is None:
        return None
    milliseconds = int(match[1]) * (1 if len(match[1]) > 10 else 1000)  # noqa: PLR2004 - seconds have ten digits until 2286
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _written(text: str) -> datetime | str | None:
    """Parse a date with its time of day; ValueError if there is no such day or hour."""
    match = next((found for form in _FORMS if (found := form.fullmatch(text))), None)
    if match is None:
        return None
    part = match.groupdict()
    if part["hour"] is None:
        return f"has no time of day; {_REMEDY}"
    month_and_day = _month_and_day(part)
    if month_and_day is None:
        return f"has two meanings, day or month first; {_REMEDY}"
    month, day = month_and_day
    second = int(part["second"] or 0)
    microsecond = int((part["fraction"] or "0").ljust(6, "0")[:6])
    at = (int(part["year"]), month, day, _hour(part), int(part["minute"]), second, microsecond)
    return datetime(*at, tzinfo=_zone(part["zone"])).astimezone(UTC)


def _month_and_day(part: dict[str, str | None]) -> tuple[int, int] | None:
    """Return month and day; None if either number could be the month."""
    if part.get("name"):
        return 1 + _MONTHS.index(str(part["name"]).lower()), int(part["day"] or 0)
    if part.get("one") is None:
        return int(part["month"] or 0), int(part["day"] or 0)
    one, other = int(part["one"] or 0), int(part["other"] or 0)
    if max(one, other) > len(_MONTHS):
        return min(one, other), max(one, other)
    return (one, other) if one == other else None


def _hour(part: dict[str, str | None]) -> int:
    hour = int(part["hour"] or 0)
    if part["half"] is None:
        return hour
    if not 1 <= hour <= _NOON:
        raise ValueError(hour)
    return hour % _NOON + (_NOON if part["half"] in "Pp" else 0)


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-" or text.lower() == "+utc":
        return UTC
    length = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-length if text[0] == "-" else length)
