"""The clocks of the product: the only place that asks the machine for the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dashboard.store.engine.lease_clock import boot_clock


def utc_now() -> datetime:
    """Return the present moment, aware and in UTC, cut to milliseconds as the store keeps it.

    Finer, a moment would be later than what the store gives back of it.
    """
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def elapsed() -> timedelta:
    """Return the time since boot, which also counts while the machine sleeps and never jumps."""
    return timedelta(microseconds=boot_clock().nanoseconds // 1000)
