"""How long each kind of data is kept, and from that the time before which it is purged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.formatting import span

_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each kind is kept: None is forever.

    `fees` are single values, `fee_minutes` roll-ups by the minute; those by hour and day are kept
    forever. `untracked_answers` are about hashes that are not tracked, `saved_lookups` the hashes
    behind a link, `credits` the calls and their costs, `coverage_gaps` the times in which a
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

    def before(self, now: datetime) -> Before:
        """Return the time before which each kind is purged now.

        Fees go by whole minutes and minutes by whole hours, so that no roll-up covers
        a part, and credits by the hours in which they are counted; the audit log goes by whole
        days, since each purge is logged itself.
        """
        return Before(
            fees=_whole(_since(self.fees, now), _MINUTE),
            fee_minutes=_whole(_since(self.fee_minutes, now), _HOUR),
            rejections=_since(self.rejections, now),
            notifications=_since(self.notifications, now),
            untracked_answers=_since(self.untracked_answers, now),
            saved_lookups=_since(self.saved_lookups, now),
            audit_log=_whole(_since(self.audit_log, now), _DAY),
            credits=_whole(_since(self.credits, now), _HOUR),
            coverage_gaps=_since(self.coverage_gaps, now),
            answer_counts=_since(self.answer_counts, now),
        )

    def in_words(self) -> Mapping[str, str]:
        """Say of each kind how long it is kept."""
        lengths = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: "forever" if kept is None else span(kept) for name, kept in lengths}


@dataclass(frozen=True, slots=True)
class Before:
    """The time before which each kind is purged; None: never."""

    fees: datetime | None = None
    fee_minutes: datetime | None = None
    rejections: datetime | None = None
    notifications: datetime | None = None
    untracked_answers: datetime | None = None
    saved_lookups: datetime | None = None
    audit_log: datetime | None = None
    credits: datetime | None = None
    coverage_gaps: datetime | None = None
    answer_counts: datetime | None = None


def _since(kept: timedelta | None, now: datetime) -> datetime | None:
    if kept is None:
        return None
    try:
        return now - kept
    except OverflowError:  # longer ago than there were years
        return None


def _whole(moment: datetime | None, step: timedelta) -> datetime | None:
    """Return the last multiple of `step`, counted from the year 1 on, that is not after it."""
    if moment is None:
        return None
    return moment - (moment - datetime.min.replace(tzinfo=moment.tzinfo)) % step
