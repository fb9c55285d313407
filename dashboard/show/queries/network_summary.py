"""The sentence that a page about networks begins with: which of them need a look."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.show.queries.network_status import Activity, NetworkStatus


def answer(statuses: Sequence[NetworkStatus]) -> str:
    """Say which networks need a look, the worst first, or that none does."""
    if not statuses:
        return "No network is configured."
    needing = {
        "No answer from": [each for each in statuses if each.figures.failures],
        "Stale": _in(Activity.STALE, statuses),
        "Busy": _in(Activity.BUSY, statuses),
        "Not known yet": [each for each in _in(Activity.UNKNOWN, statuses) if each.card.has_gas],
    }
    said = [f"{words}: {_names(found)}." for words, found in needing.items() if found]
    if said:
        return " ".join(said)
    is_all_calm = all(status.activity is Activity.CALM for status in statuses)
    return "Every network is calm." if is_all_calm else "No network is busy or stale."


def _in(activity: Activity, statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    return [status for status in statuses if status.activity is activity]


def _names(statuses: Sequence[NetworkStatus]) -> str:
    return ", ".join(status.card.name for status in statuses)
