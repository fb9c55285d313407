"""Coverage: when a network was watched, and the gaps in which it was not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.formatting import counted
from dashboard.domain.quantity import NetworkId

SHORTEST_GAP: Final = timedelta(minutes=2)
"""A restart, or one question that failed once, makes no gap."""

Stretch: TypeAlias = tuple[datetime, datetime]
"""A beginning and an end."""

_ENOUGH: Final = 0.98


class Watched(StrEnum):
    """What is watched of a network."""

    FEES = "fees"
    REJECTIONS = "rejections"


class GapCause(StrEnum):
    """Why there is a gap: no worker asked, or nobody answered."""

    NOT_WATCHED = "not watched"
    NOT_ANSWERED = "not answered"


class Gap(Struct, frozen=True):
    """A time in which a network was not watched; `ends_at` is None while it is open.

    `reason` is the failure in words, safe to show; empty if no worker asked.
    """

    network_id: NetworkId
    watched: Watched
    begins_at: datetime
    ends_at: datetime | None
    cause: GapCause
    reason: str = ""

    def length(self, now: datetime) -> timedelta:
        """Return its length, until now while it is open."""
        return max((self.ends_at or now) - self.begins_at, timedelta())

    def ended(self, at: datetime) -> Gap:
        """Return the gap with an end, which a clock set back cannot put before its beginning."""
        return replace(self, ends_at=max(at, self.begins_at))


class WatchedTime(Struct, frozen=True):
    """A time, and the parts of it that were not watched: disjoint, oldest first."""

    since: datetime
    until: datetime
    missed: tuple[Stretch, ...] = ()

    @classmethod
    def of(cls, since: datetime, until: datetime, missed: Iterable[Stretch]) -> Self:
        """Merge the missed parts, given in any order, and clip them to the time."""
        joined: list[Stretch] = []
        clipped = [(max(begin, since), min(end, until)) for begin, end in missed]
        for begins_at, ends_at in sorted(clipped):
            if joined and begins_at <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], ends_at))
            elif begins_at < ends_at:
                joined.append((begins_at, ends_at))
        return cls(since, until, tuple(joined))

    @property
    def length(self) -> timedelta:
        return self.until - self.since

    @property
    def watched(self) -> timedelta:
        return self.length - sum((end - begin for begin, end in self.missed), timedelta())

    @property
    def is_whole(self) -> bool:
        """Whether practically all of it was watched; a restart or two do not matter."""
        return self.watched >= _ENOUGH * self.length

    def within(self, since: datetime, until: datetime) -> WatchedTime:
        """Return the watched time of a part of it."""
        return WatchedTime.of(since, until, self.missed)


def seen_rejections(number: int, *, is_whole: bool) -> str:
    """Say how many rejections were seen; unless `is_whole`, there may have been more."""
    if not number:
        return "no rejection" if is_whole else "no rejection seen"
    return f"{counted(number, 'rejection')}{'' if is_whole else ' or more'}"


class Covered(Struct, frozen=True):
    """Fees or rejections of a network were watched from `since` to `until` without a gap.

    `open_gap` began when the upstream stopped answering; None while it answers.
    """

    network_id: NetworkId
    watched: Watched
    since: datetime
    until: datetime
    open_gap: Gap | None = None

    def unseen(self, since: datetime, until: datetime) -> tuple[Gap, ...]:
        """Return the gap of a time without a worker; empty if that was short.

        If a gap was open, it ends where the new one begins, and comes first.
        """
        if until - since < SHORTEST_GAP:
            return ()
        gap = Gap(self.network_id, self.watched, since, until, GapCause.NOT_WATCHED)
        return (gap,) if self.open_gap is None else (self.open_gap.ended(since), gap)


class CoverageChange(Struct, frozen=True):
    """The coverage after a poll, and the gaps that the poll ended."""

    covered: Covered
    ended: tuple[Gap, ...] = ()


def without_worker(
    gaps: Sequence[Gap], watched: Mapping[tuple[NetworkId, Watched], Stretch]
) -> list[Gap]:
    """Return the times of these gaps in which nothing was watched, since no worker was running.

    A network that the settings did not name for a while has a gap of its own. `watched` says from
    when to when each part of a network was watched, whatever gaps it has.
    """
    missed: defaultdict[tuple[NetworkId, Watched], list[Stretch]] = defaultdict(list)
    unwatched = [
        (each, each.begins_at, each.ends_at)
        for each in gaps
        if each.cause is GapCause.NOT_WATCHED and each.ends_at is not None
    ]
    for gap, begins_at, ends_at in unwatched:
        missed[gap.network_id, gap.watched].append((begins_at, ends_at))
    if not unwatched:
        return []
    first, last = min(begin for _, begin, _ in unwatched), max(end for _, _, end in unwatched)
    absent: tuple[Stretch, ...] = ((first, last),)
    for part, (since, until) in watched.items():
        own = WatchedTime.of(first, last, [*missed[part], (first, since), (until, last)])
        absent = tuple(each for one in absent for each in own.within(*one).missed)
    whole = WatchedTime(first, last, absent)
    return [
        replace(gap, begins_at=begin, ends_at=end)
        for gap, begins_at, ends_at in unwatched
        for begin, end in whole.within(begins_at, ends_at).missed
        if end - begin >= SHORTEST_GAP
    ]
