"""Troubles of the installation: mail that is not taken, and roles that keep dying."""

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
        """Whether it lasts so long that people must be notified over another channel."""
        return self.pending > 0 and now - self.since >= after


@dataclass(frozen=True, slots=True)
class MailOutage:
    """An outage, and what was reported about it; `ended_at` is when a mail was accepted again."""

    after_delivery: int
    since: datetime
    reported_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FailingRole:
    """A process of `linewatch up` that died again before it had been ready for a while.

    `deaths` counts from `since`; `why` tells how it ended last, `again_at` when it starts again.
    """

    name: str
    deaths: int
    since: datetime
    why: str
    again_at: datetime
