"""The sentence that a page about networks begins with: which of them need a look."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.show.networks import Activity, NetworkStatus


def answer(statuses: Sequence[NetworkStatus]) -> str:
    """Say which networks need a look, the worst first, or that none does."""
    if not statuses:
        return "No network is configured."
    needing = [
        f"{words}: {names}."
        for activity, words in (
            (Activity.STALE, "Stale"),
            (Activity.BUSY, "Busy"),
            (Activity.UNKNOWN, "Not known yet"),
        )
        if (names := _names(statuses, activity))
    ]
    if needing:
        return " ".join(needing)
    is_all_calm = all(status.activity is Activity.CALM for status in statuses)
    return "Every network is calm." if is_all_calm else "No network is busy or stale."


def _names(statuses: Sequence[NetworkStatus], activity: Activity) -> str:
    return ", ".join(status.card.name for status in statuses if status.activity is activity)
