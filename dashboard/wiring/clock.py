"""The clocks of the product: the only place that asks the machine for the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


def utc_now() -> datetime:
    """Return the present moment, aware and in UTC."""
    return datetime.now(UTC)


def elapsed() -> timedelta:
    """Return a time that only goes on, whatever becomes of the time of day."""
    return timedelta(seconds=time.monotonic())
