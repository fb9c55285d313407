"""`Retry-After` (RFC 9110): for how long a server wants no requests, in seconds or until a date."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_RETRY_AFTER: Final = timedelta(minutes=5)
"""The longest wait that is obeyed: one answer must not silence a source for long."""


def parse_retry_after(text: str, date: str) -> timedelta | None:
    """Return the wait; a date is compared with `date`, the server's own; None where it is none."""
    wanted = text.strip()
    if wanted.isascii() and wanted.isdigit():
        return min(timedelta(seconds=int(wanted[:9])), LONGEST_RETRY_AFTER)
    try:
        wait = parsedate_to_datetime(wanted) - parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)
