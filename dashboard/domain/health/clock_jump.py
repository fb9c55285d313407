"""Clock jumps: how far ahead a clock is distrusted, so that nothing is deleted by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

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
