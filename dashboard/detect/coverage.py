"""Conclude what was not covered: while no worker looked, and while nobody answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dashboard.domain.coverage import SHORTEST_GAP, CoverageChange, Covered, Gap, GapCause


@dataclass(frozen=True, slots=True)
class Look:
    """A moment at which a worker is at work.

    `since_last` is the time that passed since the same worker's last look, by a clock that never
    jumps; None at its first. `failing_since` is None where somebody answers.
    """

    at: datetime
    since_last: timedelta | None = None
    failing_since: datetime | None = None
    reason: str = ""


def conclude_coverage(before: Covered, look: Look) -> CoverageChange:
    """Return what a look changes.

    Only at a worker's first look does the time of day show for how long nobody looked; one that
    was set back shows nothing, so no gap is invented.
    """
    seen_at = before.until if look.since_last is None else look.at - look.since_last
    ended = before.unseen(seen_at, look.at)
    if not ended:
        return _hear(replace(before, until=look.at), look)
    after = _hear(Covered(before.network_id, before.watched, look.at, look.at), look)
    return replace(after, ended=(*ended, *after.ended))


def _hear(covered: Covered, look: Look) -> CoverageChange:
    """Open a gap where nobody has answered for long, and end the one that is open otherwise."""
    silence, failing_since = covered.silence, look.failing_since
    if silence is not None:
        if failing_since is not None and failing_since <= silence.begins_at:
            return CoverageChange(covered)
        after = _hear(replace(covered, silence=None), look)
        return replace(after, ended=(silence.ended(failing_since or look.at),))
    if failing_since is None:
        return CoverageChange(covered)
    begins_at = max(failing_since, covered.since)
    if look.at - begins_at < SHORTEST_GAP:
        return CoverageChange(covered)
    opened = Gap(
        covered.network_id, covered.watched, begins_at, None, GapCause.NOT_ANSWERED, look.reason
    )
    return CoverageChange(replace(covered, silence=opened))
