"""Troubles of the installation: mail that is not taken, roles that keep dying, clocks that jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final


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


FURTHEST: Final = timedelta(days=3)
"""How far the clock may be ahead of the last measurement of the store, which is made daily."""

CONFIRMED_BY: Final = 4
"""Daily measurements after which a jump is accepted: the machine was switched off."""


@dataclass(frozen=True, slots=True)
class ClockJump:
    """The clock went from `before` to `after` at once; whether time passed is not known yet."""

    before: datetime
    after: datetime


def unconfirmed_jump(measured: Sequence[datetime], now: datetime) -> ClockJump | None:
    """Return the first jump that is not accepted yet, None if `now` may be trusted.

    `measured` are times at which the store was measured, one a day; those after `now` are
    ignored: the clock was ahead then and was corrected.
    """
    earlier = sorted(moment for moment in measured if moment <= now)[-CONFIRMED_BY:]
    for before, after in pairwise([*earlier, now]):
        if after - before > FURTHEST:
            return ClockJump(before, after)
    return None
