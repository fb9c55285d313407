"""What is usual of a network: its fee at this hour, and how long busy spells last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median, median_low
from typing import Final, NamedTuple

from dashboard.domain.formatting import span
from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.grounds import FeeGrounds
from dashboard.domain.quantity import Wei
from dashboard.domain.spells import Spell

USUAL_WINDOW: Final = timedelta(days=90)
"""How far back spells are compared with one that begins."""

USUAL_DAYS: Final = 30
"""So many days say what a fee usually is at an hour of the day."""

_AROUND: Final = timedelta(minutes=90)
_DAY: Final = timedelta(days=1)
_FEWEST: Final = 3
"""Spells, or days, below which nothing is called usual."""
_AS_USUAL: Final = 0.005


class FeePoint(NamedTuple):
    """The lowest and the highest fee of a short time, in wei, and when that ended."""

    at: datetime
    lowest: Wei
    highest: Wei


@dataclass(frozen=True, slots=True)
class UsualSpells:
    """How long spells lasted that are over; `is_of_hour`: only those of about the same hour."""

    many: int
    middle: timedelta
    longest: timedelta
    is_of_hour: bool

    def in_words(self) -> str:
        """Say how long they last, alike on pages and in messages."""
        which = "around this hour" if self.is_of_hour else "at any hour"
        return f"spells that begin {which} usually last {span(self.middle)}"


@dataclass(frozen=True, slots=True)
class UsualFee:
    """What a fee is at this hour of the day, UTC, in the middle of the last days."""

    fee: Wei
    days: int

    def difference(self, fee: Wei) -> float | None:
        """Return how far a fee lies from it: 0.5 is half as much again; None where it is zero."""
        return (fee - self.fee) / self.fee if self.fee else None


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


def usual_spells(spells: Iterable[Spell], at: datetime) -> UsualSpells | None:
    """Return how long spells last that begin at about this hour of the day, UTC.

    Where these are too few, of any hour; None where those are too few as well. Spells count that
    were over at that moment, and of which the end is known.
    """
    over = [each for each in spells if each.was_over(at)]
    of_hour = [each for each in over if _is_near(each.begins_at, at)]
    chosen = of_hour if len(of_hour) >= _FEWEST else over
    if len(chosen) < _FEWEST:
        return None
    lengths = [each.length(at) for each in chosen]
    middle = timedelta(seconds=median(each.total_seconds() for each in lengths))
    return UsualSpells(len(chosen), middle, max(lengths), len(of_hour) >= _FEWEST)


def _is_near(one: datetime, other: datetime) -> bool:
    """Whether two times of day are near each other, across midnight too."""
    apart = (one - other) % _DAY
    return min(apart, _DAY - apart) <= _AROUND


def usual_fee(medians: Sequence[int]) -> UsualFee | None:
    """Return the usual fee, of the median of one hour on each of some days; None for too few."""
    if len(medians) < _FEWEST:
        return None
    return UsualFee(Wei(median_low(medians)), len(medians))


def difference_in_words(difference: float) -> str:
    """Say a difference from what is usual, such as ``34% above usual``."""
    if abs(difference) < _AS_USUAL:
        return "as usual"
    return f"{abs(difference):,.0%} {'above' if difference > 0 else 'below'} usual"
