"""The sentence that a page about networks begins with: which of them need a look."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.observation import Operation
from dashboard.show.queries.network_status import Activity, NetworkStatus


def answer(statuses: Sequence[NetworkStatus]) -> str:
    """Say which networks need a look, the worst first, or that none does."""
    if not statuses:
        return "No network is configured."
    silent = [_silent(each) for each in statuses if each.figures.failures]
    needing = {
        "Stale": _in(Activity.STALE, statuses),
        "Busy": _in(Activity.BUSY, statuses),
        "Not known yet": [each for each in _in(Activity.UNKNOWN, statuses) if each.card.has_gas],
    }
    said = [f"No answer from: {', '.join(silent)}."] if silent else []
    said += [f"{words}: {_names(found)}." for words, found in needing.items() if found]
    if said:
        return " ".join(said)
    is_all_calm = all(status.activity is Activity.CALM for status in statuses)
    return "Every network is calm." if is_all_calm else "No network is busy or stale."


def _in(activity: Activity, statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    return [status for status in statuses if status.activity is activity]


def _silent(status: NetworkStatus) -> str:
    """Name a network, and who of it does not answer."""
    asked = {
        Operation.EXCLUSION_STATUS: "the exclusion API",
        Operation.TRANSACTION_RECEIPT: "the network's node",
    }
    failures = status.figures.failures
    silent = dict.fromkeys(asked.get(each.operation, status.card.gas_source) for each in failures)
    return f"{status.card.name} ({', '.join(silent)})"


def _names(statuses: Sequence[NetworkStatus]) -> str:
    return ", ".join(status.card.name for status in statuses)
