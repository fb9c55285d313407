"""What must hold of how long each kind of data is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from dashboard.settings.locate import Path
from dashboard.settings.partly import as_far_as_readable
from dashboard.settings.schema import StoreSettings

_SHORTEST: Final = {
    "keep_fees": (timedelta(days=1), "1d: what is usual is told from the fees of a day"),
    "keep_rejections": (timedelta(days=8), "8d: our own serve answers of those of seven days"),
    "keep_notifications": (timedelta(days=8), "8d: a mail is tried again for seven days"),
    "keep_credits": (timedelta(days=32), "32d: Health tells what this month cost"),
    "keep_coverage_gaps": (timedelta(days=30), "30d: Health lists those of 30 days"),
}
"""The least length of each, and why."""


@as_far_as_readable
def check_store(store: StoreSettings) -> Iterator[tuple[Path, str]]:
    """Yield what would be forgotten while it is still needed."""
    for name in _SHORTEST:
        yield from _check_length(store, name)
    fees, minutes = store.keep_fees.length, store.keep_fee_minutes.length
    if minutes is not None and (fees is None or minutes < fees):
        said = "is shorter than store.keep_fees, from which it is made: keep it as long, or longer"
        yield ("store", "keep_fee_minutes"), said


@as_far_as_readable
def _check_length(store: StoreSettings, name: str) -> Iterator[tuple[Path, str]]:
    least, why = _SHORTEST[name]
    length = getattr(store, name).length
    if length is not None and length < least:
        yield ("store", name), f"is too short: keep them at least {why}"
