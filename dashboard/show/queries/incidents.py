"""What lasts, in the same words everywhere: since when, and what is seen meanwhile."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dashboard.detect.holding import HoldRule
from dashboard.domain.condition import Condition, State
from dashboard.show.text import moment_near, span

_TURNING: Final = {
    State.BUSY: ("at or below the threshold", "over"),
    State.CALM: ("above the threshold", "busy"),
    State.SILENT: ("answered", "over"),
    State.ANSWERING: ("not answered", "silent"),
    State.STALE: ("fresh", "over"),
    State.FRESH: ("too old", "stale"),
    State.LOW_ON_SPACE: ("roomy", "over"),
    State.ROOMY: ("short of space", "low on space"),
}
"""What is seen while a state is about to end, and what follows if that lasts."""


def since_when(held: Condition, rule: HoldRule, now: datetime) -> str:
    """Say since when a condition holds; where it is about to end, also when that will be.

    `since 02:40:00 UTC; at or below the threshold for 3 min, over at 02:56:00 UTC if that lasts`
    """
    said = f"since {moment_near(held.since, now)}"
    if held.turning_since is None:
        return said
    seen, outcome = _TURNING[held.state]
    ends = held.turning_since + (rule.keep_firing if held.state.is_open else rule.pending)
    when = f"at {moment_near(ends, now)} if that lasts" if ends > now else "with the next answer"
    return f"{said}; {seen} for {span(now - held.turning_since)}, {outcome} {when}"
