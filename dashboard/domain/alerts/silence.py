"""Silences and maintenance windows: which changes nobody is notified of for a time, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.matcher import ChangeLabels, Matcher, fits
from dashboard.domain.formatting import moment
from dashboard.domain.people.active_hours import WeeklyHours
from dashboard.errors import InputError

LONGEST_REASON: Final = 300
"""Characters of the reason that a person gives."""

SILENCED: Final = "silenced until"
"""How the reason begins for which a silence withheld a notification."""

MOST_MATCHERS: Final = 20
_MORNING: Final = time(7)
LONGEST_SILENCE: Final = timedelta(days=366)


class SilenceKind(StrEnum):
    """SILENCE: nobody is notified. MAINTENANCE: notifications are held until it ends."""

    SILENCE = "silence"
    MAINTENANCE = "maintenance window"


class SilenceState(StrEnum):
    """Whether it is planned, active or over; between its weekly hours it counts as planned."""

    PLANNED = "planned"
    ACTIVE = "active"
    EXPIRED = "expired"


class SilenceRequest(Struct, frozen=True):
    """What a person asks for: which changes, from when to when, and why.

    `request_id` is chosen by the caller, so that the same request is stored once. With `weekly`, it
    applies only during these hours of every week, between its start and its end.
    """

    request_id: UUID
    kind: SilenceKind
    matchers: tuple[Matcher, ...]
    starts_at: datetime
    ends_at: datetime
    reason: str
    weekly: WeeklyHours | None = None


class Silence(Struct, frozen=True):
    """A stored silence or maintenance window; `author` and the reason are foreign text.

    `ended_at` and `ended_by` say when and by whom it was ended early.
    """

    silence_id: int
    request: SilenceRequest
    author: str
    created_at: datetime
    ended_at: datetime | None = None
    ended_by: str = ""

    @property
    def kind(self) -> SilenceKind:
        """Whether notifications are dropped or held."""
        return self.request.kind

    @property
    def over_at(self) -> datetime:
        """When it ends or ended for good."""
        return self.request.ends_at if self.ended_at is None else self.ended_at

    @property
    def never_began(self) -> bool:
        """Whether a person ended it before its start."""
        return self.ended_at is not None and self.ended_at <= self.request.starts_at

    def state(self, at: datetime) -> SilenceState:
        """Return its state at a moment; the start is included, the end is not."""
        if at >= self.over_at:
            return SilenceState.EXPIRED
        is_on = self.request.weekly is None or self.request.weekly.are_on(at)
        return (
            SilenceState.ACTIVE if is_on and at >= self.request.starts_at else SilenceState.PLANNED
        )

    def occurrence(self, at: datetime) -> Silence | None:
        """Return the weekly occurrence that lasts at a moment, or else the next, as a silence.

        Without weekly hours that is the whole silence. None if no occurrence follows.
        """
        if at >= self.over_at:
            return None
        if self.request.weekly is None:
            return self
        start, end = self.request.weekly.span(max(at, self.request.starts_at))
        if start >= self.over_at:
            return None
        ends_at = self.over_at if end is None else min(end, self.over_at)
        part = replace(self.request, starts_at=start, ends_at=ends_at, weekly=None)
        return replace(self, request=part, ended_at=None)


def next_morning(now: datetime, zone: tzinfo) -> datetime:
    """Return the next 07:00 in a time zone, in UTC, when a night's silence ends."""
    here = now.astimezone(zone)
    day = here.date() + timedelta(days=1 if here.time() >= _MORNING else 0)
    return datetime.combine(day, _MORNING, zone).astimezone(UTC)


def silenced_by(silences: Iterable[Silence], labels: ChangeLabels, at: datetime) -> Silence | None:
    """Return the silence that applies to a change; None if there is none.

    If several apply, it is the one that lasts longest; of weekly silences only the current hours
    count.
    """
    lasting = _lasting(fitting(silences, SilenceKind.SILENCE, labels), at)
    return max(lasting, key=lambda each: each.over_at, default=None)


def likely_silences(
    silences: Sequence[Silence], shared: ChangeLabels, at: datetime
) -> list[Silence]:
    """Return the silences in force that no property in `shared`, which changes share, rules out."""
    return [
        each
        for each in silences
        if each.kind is SilenceKind.SILENCE
        and each.state(at) is SilenceState.ACTIVE
        and fits([one for one in each.request.matchers if one.about in shared], shared)
    ]


def silenced_all_by(
    silences: Sequence[Silence], each_labels: Iterable[ChangeLabels], at: datetime
) -> Silence | None:
    """Return the silence that ends first, if each of these changes is silenced; otherwise None."""
    first: Silence | None = None
    for labels in each_labels:
        found = silenced_by(silences, labels, at)
        if found is None:
            return None
        first = found if first is None or found.over_at < first.over_at else first
    return first


def held_by(fitting_windows: Sequence[Silence], at: datetime) -> list[Silence]:
    """Return which of the maintenance windows that fit a change hold it; the last end releases it.

    A window that overlaps another, or follows it without a gap, holds the change further.
    """
    windows: list[Silence] = []
    while True:
        since = windows[-1].over_at if windows else at
        lasting = _lasting(fitting_windows, since)
        if not lasting:
            return windows
        windows.append(max(lasting, key=lambda each: each.over_at))


def fitting(
    silences: Iterable[Silence], kind: SilenceKind, labels: ChangeLabels
) -> tuple[Silence, ...]:
    """Return the silences of a kind whose matchers fit a change, whenever they apply."""
    return tuple(
        each for each in silences if each.kind is kind and fits(each.request.matchers, labels)
    )


def _lasting(silences: Iterable[Silence], at: datetime) -> list[Silence]:
    """Return the current occurrences of silences."""
    lasting = (each.occurrence(at) for each in silences if each.state(at) is SilenceState.ACTIVE)
    return [each for each in lasting if each is not None]


def check_request(request: SilenceRequest, now: datetime, *, covers_all: bool = False) -> None:
    """Raise InputError, with the remedy, for a request that a person cannot have meant.

    `covers_all`: the person confirmed that everything is meant.
    """
    what = request.kind.value
    if request.ends_at <= request.starts_at:
        raise InputError(
            f"the {what} would end at {moment(request.ends_at)}, not after its start at "
            f"{moment(request.starts_at)}: give a later end or an earlier start"
        )
    if request.ends_at <= now:
        raise InputError(f"the {what} would have ended on {moment(request.ends_at)}: end it later")
    if request.ends_at - request.starts_at > LONGEST_SILENCE:
        raise InputError(
            f"the {what} would last longer than {LONGEST_SILENCE.days} days: end it earlier"
        )
    if (
        request.weekly is not None
        and request.weekly.span(max(now, request.starts_at))[0] >= request.ends_at
    ):
        raise InputError(
            f"the hours {request.weekly} do not fall before {moment(request.ends_at)}: end it later"
        )
    if not request.reason.strip():
        raise InputError(f"the {what} has no reason: say why, for the people on call")
    if len(request.reason) > LONGEST_REASON:
        raise InputError(
            f"the reason has {len(request.reason):,} characters: write at most {LONGEST_REASON}"
        )
    _check_matchers(request, covers_all=covers_all)


def _check_matchers(request: SilenceRequest, *, covers_all: bool) -> None:
    if len(request.matchers) > MOST_MATCHERS:
        raise InputError(
            f"{len(request.matchers)} matchers are too many: give at most {MOST_MATCHERS}"
        )
    named = {(each.about, each.value.casefold()) for each in request.matchers if each.is_equal}
    unwanted = [each for each in request.matchers if not each.is_equal]
    for each in unwanted:
        if (each.about, each.value.casefold()) in named:
            raise InputError(
                f"{each.about} cannot be {each.value} and not be {each.value}: remove one matcher"
            )
    if named or covers_all:
        return
    only = f"but {' and '.join(map(str, unwanted))} " if unwanted else ""
    raise InputError(
        f"the {request.kind.value} has no matcher {only}and would cover everything"
        f"{' else' if unwanted else ''}: name what is meant, such as module=HUB or "
        "network=1, or confirm that everything is meant (--all)"
    )
