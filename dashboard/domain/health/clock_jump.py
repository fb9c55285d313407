"""Clock jumps: when not to trust a clock that is ahead, so that nothing is purged because of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from msgspec import Struct

FURTHEST: Final = timedelta(days=3)
"""How far the clock may be ahead of the last daily measurement of the store."""

CONFIRMED_BY: Final = 4
"""After this many daily measurements a jump is accepted: the machine was switched off."""


class ClockJump(Struct, frozen=True):
    """The clock jumped from `before` to `after`; whether time really passed is not known yet."""

    before: datetime
    after: datetime


def unconfirmed_jump(measured: Sequence[datetime], now: datetime) -> ClockJump | None:
    """Return the first jump that is not accepted yet, None if `now` can be trusted.

    `measured` are the times of the daily measurements of the store; those after `now` are ignored:
    the clock was ahead then and has been corrected.
    """
    earlier = sorted(moment for moment in measured if moment <= now)[-CONFIRMED_BY:]
    for before, after in pairwise([*earlier, now]):
        if after - before > FURTHEST:
            return ClockJump(before, after)
    return None
