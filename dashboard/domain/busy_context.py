"""What surrounds a busy spell: suggested fees, the fee before, and how long spells usually last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final, NamedTuple

from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.grounds import FeeGrounds

USUAL_WINDOW: Final = timedelta(days=90)
"""How far back spells are compared with one that begins."""

_AROUND: Final = timedelta(minutes=90)
_DAY: Final = timedelta(days=1)
_FEWEST: Final = 3
"""Spells below which nothing is called usual."""


class BusySpell(NamedTuple):
    """A time during which a network was busy."""

    opened_at: datetime
    length: timedelta


class FeePoint(NamedTuple):
    """The highest fee of a short time, in wei, and when that ended."""

    at: datetime
    fee: int


@dataclass(frozen=True, slots=True)
class UsualSpells:
    """How long spells lasted that are over; `is_of_hour`: only those of about the same hour."""

    many: int
    middle: timedelta
    longest: timedelta
    is_of_hour: bool


@dataclass(frozen=True, slots=True)
class BusyContext:
    """What is known around the moment at which a network became busy.

    `suggested` was asked for at `suggested_at`. `fees` are those of the time from `since` on.
    """

    grounds: FeeGrounds
    since: datetime
    until: datetime
    suggested: SuggestedGasFees | None = None
    suggested_at: datetime | None = None
    fees: tuple[FeePoint, ...] = ()
    usual: UsualSpells | None = None


def usual_spells(spells: Sequence[BusySpell], at: datetime) -> UsualSpells | None:
    """Return how long spells last that begin at about this hour of the day, UTC.

    Where these are too few, of any hour; None where those are too few as well.
    """
    of_hour = [each for each in spells if _is_near(each.opened_at, at)]
    chosen = of_hour if len(of_hour) >= _FEWEST else list(spells)
    if len(chosen) < _FEWEST:
        return None
    lengths = [each.length for each in chosen]
    middle = timedelta(seconds=median(each.total_seconds() for each in lengths))
    return UsualSpells(len(chosen), middle, max(lengths), len(of_hour) >= _FEWEST)


def _is_near(one: datetime, other: datetime) -> bool:
    """Whether two times of day are near each other, across midnight too."""
    apart = (one - other) % _DAY
    return min(apart, _DAY - apart) <= _AROUND
