"""Mail outages: times in which no mail was taken, reported over another channel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class MailTrouble:
    """What fails now: since when no mail was taken, how many are pending, the last answer.

    `after_delivery` numbers the last attempt before it, and so names it. `answer` is foreign text.
    """

    after_delivery: int
    since: datetime
    pending: int
    answer: str

    def is_outage(self, now: datetime, after: timedelta) -> bool:
        """Whether it lasts for so long that people must hear of it otherwise."""
        return self.pending > 0 and now - self.since >= after


@dataclass(frozen=True, slots=True)
class MailOutage:
    """An outage, and what was reported of it; `ended_at` is when a mail was taken again."""

    after_delivery: int
    since: datetime
    reported_at: datetime | None = None
    ended_at: datetime | None = None
