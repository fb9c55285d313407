"""Coverage: when a network was watched, and the gaps in which it was not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.quantity import NetworkId


class Watched(StrEnum):
    """What is watched of a network."""

    FEES = "fees"
    REJECTIONS = "rejections"


class GapCause(StrEnum):
    """Why there is a gap: no worker asked, or nobody answered."""

    NOT_WATCHED = "not watched"
    NOT_ANSWERED = "not answered"


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a network was not watched; without an end it is open.

    `reason` is the failure in words, safe to show; empty where no worker asked.
    """

    network_id: NetworkId
    watched: Watched
    begins_at: datetime
    ends_at: datetime | None
    cause: GapCause
    reason: str = ""

    def length(self, now: datetime) -> timedelta:
        """Return how long it was, or is until now."""
        return max((self.ends_at or now) - self.begins_at, timedelta())


@dataclass(frozen=True, slots=True)
class Covered:
    """Fees or rejections of a network were watched from `since` to `until` without a gap.

    `silence` is the open gap, if the upstream does not answer now.
    """

    network_id: NetworkId
    watched: Watched
    since: datetime
    until: datetime
    silence: Gap | None = None


@dataclass(frozen=True, slots=True)
class CoverageChange:
    """The coverage after a poll, and the gaps that ended with it."""

    covered: Covered
    ended: tuple[Gap, ...] = ()
