"""A clock that leapt ahead: what is old by it alone must not be forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

FURTHEST: Final = timedelta(days=3)
"""How far the clock may be ahead of when the store was measured last, which is done daily."""

CONFIRMED_BY: Final = 4
"""Measurements, each of a day of its own, after which a leap is believed: a machine was off."""


@dataclass(frozen=True, slots=True)
class ClockJump:
    """The clock went from `before` to `after` at once, and nobody knows yet whether time did."""

    before: datetime
    after: datetime


def unconfirmed_jump(measured: Sequence[datetime], now: datetime) -> ClockJump | None:
    """Return the first leap that is not believed yet, None where `now` may be trusted.

    `measured` are times at which the store was measured, one a day; those after `now` tell
    nothing, since then the clock was ahead and was set right.
    """
    earlier = sorted(moment for moment in measured if moment <= now)[-CONFIRMED_BY:]
    for before, after in pairwise([*earlier, now]):
        if after - before > FURTHEST:
            return ClockJump(before, after)
    return None
