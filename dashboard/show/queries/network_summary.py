"""All networks in one sentence: which need a look, the worst first."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.show.queries.network_status import Activity, NetworkStatus
from dashboard.show.text import names_of


def network_summary(statuses: Sequence[NetworkStatus]) -> str:
    """Say which networks need a look, the worst first, or that none does.

    Of several, one whose fees fail is not named again as stale, which follows from that.
    """
    if not statuses:
        return "No network is configured."
    silent = [
        f"{each.profile.name} ({', '.join(each.figures.silent_sources())})"
        for each in statuses
        if each.figures.failures
    ]
    needing = {
        "Stale": [
            each
            for each in _with_activity(Activity.STALE, statuses)
            if len(statuses) == 1 or each.figures.gas_failure() is None
        ],
        "Busy": _with_activity(Activity.BUSY, statuses),
        "Not known yet": [
            each for each in _with_activity(Activity.UNKNOWN, statuses) if each.profile.has_gas
        ],
    }
    problems = [f"No answer from: {', '.join(silent)}."] if silent else []
    every = _names(statuses)
    problems += [
        f"{words}: {names_of(_names(found), every)}." for words, found in needing.items() if found
    ]
    if problems:
        return " ".join(problems)
    is_all_calm = all(status.activity is Activity.CALM for status in statuses)
    if not is_all_calm:
        return "No network is busy or stale."
    return f"{every[0]} is calm." if len(every) == 1 else "Every network is calm."


def _with_activity(activity: Activity, statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    return [status for status in statuses if status.activity is activity]


def _names(statuses: Sequence[NetworkStatus]) -> list[str]:
    return [status.profile.name for status in statuses]
