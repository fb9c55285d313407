"""How long data is kept, how large the store is, and which clock not to trust with a purge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from msgspec import Struct

from dashboard.domain.formatting import span

_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_STEPS: Final = {"fees": _MINUTE, "fee_minutes": _HOUR, "audit_log": _DAY, "credits": _HOUR}


class Retention(Struct, frozen=True):
    """How long each kind of data is kept; None is forever.

    `fees` are single values, `fee_minutes` roll-ups by the minute; roll-ups by hour and day are
    kept forever. `untracked_answers` are about hashes that are not tracked, `saved_lookups` the
    hashes behind a link, `credits` the calls and their costs, `coverage_gaps` the times when a
    network was not watched, `answer_counts` how well sources answered.
    """

    fees: timedelta | None = timedelta(days=14)
    fee_minutes: timedelta | None = timedelta(days=400)
    rejections: timedelta | None = None
    notifications: timedelta | None = None
    untracked_answers: timedelta | None = timedelta(days=30)
    saved_lookups: timedelta | None = timedelta(days=400)
    audit_log: timedelta | None = None
    credits: timedelta | None = None
    coverage_gaps: timedelta | None = None
    answer_counts: timedelta | None = timedelta(days=31)

    def before(self, now: datetime) -> dict[str, datetime]:
        """Return the time before which each kind of data is purged; kinds kept forever are missing.

        Fees are purged by whole minutes and minutes by whole hours, so that each roll-up stays
        complete; credits by the hours that count them; the audit log by whole days, since each
        purge adds a line to it.
        """
        moments = {each: _since(getattr(self, each), now) for each in self.__struct_fields__}
        return {
            name: _whole(moment, _STEPS[name]) if name in _STEPS else moment
            for name, moment in moments.items()
            if moment is not None
        }

    def in_words(self) -> Mapping[str, str]:
        """Say how long each kind is kept."""
        lengths = ((each, getattr(self, each)) for each in self.__struct_fields__)
        return {name: "forever" if kept is None else span(kept) for name, kept in lengths}


def _since(kept: timedelta | None, now: datetime) -> datetime | None:
    if kept is None:
        return None
    try:
        return now - kept
    except OverflowError:  # longer ago than there were years
        return None


def _whole(moment: datetime, step: timedelta) -> datetime:
    """Round down to a multiple of `step`, counted from the year 1."""
    return moment - (moment - datetime.min.replace(tzinfo=moment.tzinfo)) % step


SHORTEST_GROWTH: Final = timedelta(hours=20)
"""Daily growth cannot be estimated from less time."""


class StoreSize(Struct, frozen=True):
    """A measurement of the store: bytes in use, including indexes, and growth in bytes a day.

    `growth` is None until enough time has passed, and negative if more is purged than added. Free
    space is measured inside the file, and on its disk if that is known.
    """

    measured_at: datetime
    bytes: int
    growth: float | None = None
    free_inside: int = 0
    free_on_disk: int | None = None

    @property
    def full_in(self) -> timedelta | None:
        """How long until the disk is full; None if it does not fill up, or if that is unknown."""
        if self.free_on_disk is None or self.growth is None or self.growth <= 0:
            return None
        days = (self.free_on_disk + self.free_inside) / self.growth
        return min(days, 100 * 365) * _DAY


def growth_of(earlier: tuple[datetime, int], now: tuple[datetime, int]) -> float | None:
    """Return the growth in bytes a day between two measurements; None if they are too close."""
    (began, before), (ended, after) = earlier, now
    length = ended - began
    return None if length < SHORTEST_GROWTH else (after - before) * (_DAY / length)


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
