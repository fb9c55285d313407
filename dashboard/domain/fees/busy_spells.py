"""Busy spells: when a fee was beyond a limit for long enough, and how long that usually lasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median, median_low
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.gas import SuggestedGasFees
from dashboard.domain.formatting import span
from dashboard.domain.health.coverage import SHORTEST_GAP, WatchedTime
from dashboard.domain.quantity import Wei

_NOTHING: Final = timedelta()


class HoldPeriods(Struct, frozen=True):
    """How long trouble must last before it counts, and be gone before it is over."""

    pending: timedelta
    keep_firing: timedelta = _NOTHING


class JudgedValue(NamedTuple):
    """Whether a value was beyond its limit, and when it was seen.

    `before` is when the previous value was seen, if values that change nothing are left out.
    """

    at: datetime
    is_beyond: bool
    before: datetime | None = None


class Spell(Struct, frozen=True):
    """A time beyond a limit; `ends_at` is None while it lasts.

    Unless `is_end_known`, nobody watched after `ends_at`, so it may have lasted longer.
    """

    begins_at: datetime
    ends_at: datetime | None = None
    is_end_known: bool = True

    def was_over(self, at: datetime) -> bool:
        """Whether it is known to have ended by a moment."""
        return self.is_end_known and self.ends_at is not None and self.ends_at <= at

    def length(self, now: datetime) -> timedelta:
        """Return how long it lasted, or has lasted until now."""
        return max((self.ends_at or now) - self.begins_at, _NOTHING)


class SpellState(Struct, frozen=True):
    """Whether a spell lasts, since when, and when a value was last seen.

    `is_within` is None if nobody watched. `turning_since` is when the first value on the other side
    was seen, as long as that side has not lasted long enough.
    """

    is_within: bool | None
    since: datetime
    seen_at: datetime
    turning_since: datetime | None = None

    def unseen(self) -> SpellState:
        """Return the state after a gap that began at `seen_at`: unknown."""
        return SpellState(None, self.turning_since or self.seen_at, self.seen_at)

    def settled(self, holds: HoldPeriods, at: datetime) -> SpellState:
        """Return the state if the side seen now lasts until a moment."""
        turning = self.turning_since
        wait = holds.keep_firing if self.is_within else holds.pending
        if turning is None or at - turning < wait:
            return self
        return SpellState(not self.is_within, turning, self.seen_at)


def longest_pause(period: timedelta) -> timedelta:
    """Return how far apart two values may be without a gap, if they are polled every `period`."""
    return max(SHORTEST_GAP, 2 * period)


def follow(
    held: SpellState | None, value: JudgedValue, holds: HoldPeriods, pause: timedelta
) -> list[SpellState]:
    """Return the states that a value leads to, in order; the last one is the present state.

    If two values are further apart than `pause`, there is a gap between them. A fee that is seen
    for the first time starts outside a spell. If the clock was set back, waiting starts again.
    """
    if held is None:
        held = SpellState(is_within=False, since=value.at, seen_at=value.at)
    before = replace(held, seen_at=held.seen_at if value.before is None else value.before)
    passed = [before.settled(holds, before.seen_at)]
    if value.at - before.seen_at > pause:
        passed.append(passed[-1].unseen())
    now = replace(_turned(passed[-1], value), seen_at=value.at)
    return [*passed, now, now.settled(holds, value.at)]


def _turned(held: SpellState, value: JudgedValue) -> SpellState:
    """Return the state after a value on either side."""
    if value.is_beyond is bool(held.is_within):
        if held.is_within is None:
            return SpellState(is_within=False, since=value.at, seen_at=value.at)
        return replace(held, turning_since=None)
    return replace(held, turning_since=min(held.turning_since or value.at, value.at))


def spells_of(values: Iterable[JudgedValue], holds: HoldPeriods, pause: timedelta) -> list[Spell]:
    """Return the spells of values in order of time; the last spell may still last."""
    return list(spells_between(states_of(None, values, holds, pause)))


def spells_between(states: Iterable[SpellState]) -> Iterator[Spell]:
    """Yield the spells that these states describe, oldest first."""
    begun: datetime | None = None
    for state in states:
        if state.is_within:
            begun = state.since if begun is None else begun
        elif begun is not None:
            yield Spell(begun, max(begun, state.since), state.is_within is not None)
            begun = None
    if begun is not None:
        yield Spell(begun)


def states_of(
    held: SpellState | None,
    values: Iterable[JudgedValue],
    holds: HoldPeriods,
    pause: timedelta,
) -> Iterator[SpellState]:
    """Yield all states that the values lead to, starting from `held`; see `follow`."""
    for value in values:
        states = follow(held, value, holds, pause)
        yield from states
        held = states[-1]


class BusyTime(Struct, frozen=True):
    """The busy spells within a time, oldest first, and its watched part; None if nobody watched.

    Spells may reach beyond that time.
    """

    spells: tuple[Spell, ...] = ()
    watched: WatchedTime | None = None

    @property
    def share(self) -> float | None:
        """The share of the watched time that lies in spells; None if nothing was watched."""
        if self.watched is None or not self.watched.watched:
            return None
        return 1 - self.calm(self.watched).watched / self.watched.watched

    def calm(self, watched: WatchedTime) -> WatchedTime:
        """Return the part of a watched time that lies outside spells."""
        spells = [(each.begins_at, each.ends_at or watched.until) for each in self.spells]
        return WatchedTime.of(watched.since, watched.until, [*watched.missed, *spells])


USUAL_WINDOW: Final = timedelta(days=90)
"""How far back a spell that begins is compared with earlier spells."""

USUAL_DAYS: Final = 30
"""How many days decide what a fee usually is at an hour of the day."""

_AROUND: Final = timedelta(minutes=90)
_DAY: Final = timedelta(days=1)
_FEWEST: Final = 3
"""With fewer spells or days, nothing is called usual."""
_AS_USUAL: Final = 0.005


class FeePoint(NamedTuple):
    """The lowest and the highest fee of a short time, in wei, and when that time ended."""

    at: datetime
    lowest: Wei
    highest: Wei


class UsualSpells(Struct, frozen=True):
    """How long past spells lasted; `is_of_hour`: only spells that began at about the same hour."""

    many: int
    middle: timedelta
    longest: timedelta
    is_of_hour: bool

    def in_words(self) -> str:
        """Say how long they last, in the same words on pages and in messages."""
        which = "around this hour" if self.is_of_hour else "at any hour"
        return f"busy spells that begin {which} usually last {span(self.middle)}"


class UsualFee(Struct, frozen=True):
    """The median fee at this hour of the day (UTC) over the last days."""

    fee: Wei
    days: int

    def difference(self, fee: Wei) -> float | None:
        """Return how far a fee is from it: 0.5 is half as much again; None if it is zero."""
        return (fee - self.fee) / self.fee if self.fee else None


class BusyContext(Struct, frozen=True):
    """What is known around the moment when a network became busy.

    `suggested` was asked for at `suggested_at`. `fees` begin at `since`.
    """

    grounds: FeeGrounds
    since: datetime
    until: datetime
    suggested: SuggestedGasFees | None = None
    suggested_at: datetime | None = None
    fees: tuple[FeePoint, ...] = ()
    usual: UsualSpells | None = None


def usual_spells(spells: Iterable[Spell], at: datetime) -> UsualSpells | None:
    """Return how long spells that begin at about this hour of the day (UTC) usually last.

    If there are too few, spells at any hour count; None if these are too few as well. A spell
    counts only if its end is known and lies before `at`.
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
    """Whether two times of day are close, also across midnight."""
    apart = (one - other) % _DAY
    return min(apart, _DAY - apart) <= _AROUND


def usual_fee(medians: Sequence[int]) -> UsualFee | None:
    """Return the usual fee from the medians of one hour on several days; None for too few."""
    if len(medians) < _FEWEST:
        return None
    return UsualFee(Wei(median_low(medians)), len(medians))


def difference_in_words(difference: float) -> str:
    """Describe a difference from the usual fee, such as ``34% above usual``."""
    if abs(difference) < _AS_USUAL:
        return "as usual"
    return f"{abs(difference):,.0%} {'above' if difference > 0 else 'below'} usual"
