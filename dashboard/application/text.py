"""How ages, times, fees and conditions are formatted on a page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.alerts.condition import Condition, State
from dashboard.domain.fees.busy_spells import HoldPeriods
from dashboard.domain.formatting import span
from dashboard.domain.quantity import Wei, format_gwei

PAGES: Final[Mapping[str, str]] = {
    "": "Overview",
    "fees": "Fees",
    "rejections": "Rejections",
    "lookup": "Lookup",
    "tracked": "Tracked",
    "alerts": "Alerts",
    "health": "Health",
    "settings": "Settings",
}
"""The title of each page by its path, in the order of the menu."""


def age(since: datetime, now: datetime) -> str:
    """Format how long ago something was, such as ``12 s ago`` or ``3 h ago``."""
    seconds = (now - since).total_seconds()
    if seconds <= -1:
        return f"in {span(timedelta(seconds=-seconds))}"
    return "just now" if seconds < 1 else f"{span(timedelta(seconds=seconds))} ago"


def moment_near(at: datetime, now: datetime) -> str:
    """Format a moment in UTC, without the date if it is today."""
    return f"{at:%H:%M:%S} UTC" if at.date() == now.date() else f"{at:%d %b %H:%M} UTC"


def exact_fee(wei: Wei) -> str:
    """Format a fee with all its digits, for a tooltip."""
    return f"{format_gwei(wei)} gwei ({wei:,} wei)"


def sentence(message: str) -> str:
    """End a message with a full stop, unless it has a closing mark."""
    return message if message.endswith((".", "!", "?", "…")) else f"{message}."


_TURNING: Final = {
    State.BUSY: ("at or below the threshold", "over"),
    State.CALM: ("above the threshold", "busy"),
    State.UNKNOWN: ("beyond the threshold", "certain"),
    State.SILENT: ("answered", "over"),
    State.ANSWERING: ("not answered", "down"),
    State.STALE: ("fresh", "over"),
    State.FRESH: ("too old", "stale"),
    State.LOW_ON_SPACE: ("enough space", "over"),
    State.ENOUGH_SPACE: ("short of space", "low on space"),
    State.BEYOND_LIMITS: ("within limits", "over"),
    State.WITHIN_LIMITS: ("beyond limits", "open"),
    State.NOT_WATCHED: ("watched", "over"),
    State.WATCHED: ("not watched", "open"),
    State.FAILING: ("delivered", "over"),
    State.DELIVERING: ("not delivered", "failing"),
}
"""What is seen while a state is about to end, and the outcome if that lasts."""


def since_when(held: Condition, rule: HoldPeriods, now: datetime) -> str:
    """Say since when a condition lasts and, if it is about to end, when that will be.

    `since 02:40:00 UTC; at or below the threshold for 3 min, over at 02:56:00 UTC if that lasts`
    """
    since = f"since {moment_near(held.since, now)}"
    if held.turning_since is None:
        return since
    seen, outcome = _TURNING[held.state]
    ends = held.turning_since + (rule.keep_firing if held.state.is_open else rule.pending)
    when = f"at {moment_near(ends, now)} if that lasts" if ends > now else "with the next answer"
    return f"{since}; {seen} for {span(now - held.turning_since)}, {outcome} {when}"
