"""Outages of mail, whose server accepts nothing, and roles that fail again and again."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct


class MailTrouble(Struct, frozen=True):
    """An ongoing failure of mail: since when, how many are pending, and the server's last answer.

    `after_delivery` is the number of the last attempt before it, which identifies the failure.
    `answer` is foreign text.
    """

    after_delivery: int
    since: datetime
    pending: int
    answer: str

    def is_outage(self, now: datetime, after: timedelta) -> bool:
        """Whether it has lasted so long that people must be notified over another channel."""
        return self.pending > 0 and now - self.since >= after


class MailOutage(Struct, frozen=True):
    """An outage, and what was reported about it; `ended_at` is when a mail was accepted again."""

    after_delivery: int
    since: datetime
    reported_at: datetime | None = None
    ended_at: datetime | None = None


class FailingRole(Struct, frozen=True):
    """A process of `linewatch up` that ended again before it had been ready for a while.

    `deaths` counts from `since`; `why` says how it ended last, `again_at` when it restarts.
    """

    name: str
    deaths: int
    since: datetime
    why: str
    again_at: datetime
