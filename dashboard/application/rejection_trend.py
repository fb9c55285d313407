"""Whether rejections are increasing or decreasing: a time compared with the one before it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from dashboard.application.rejection_timeline import Window
from dashboard.domain.formatting import capitalized, span, uncapitalized
from dashboard.domain.health.coverage import WatchedTime, seen_rejections

_BEYOND_CHANCE: Final = 4


class Compared(Struct, frozen=True):
    """How many rejections arrived in a time and in the time before, and how much was watched.

    There may have been more while nobody watched.
    """

    total: int
    before: int
    now: WatchedTime
    earlier: WatchedTime

    @property
    def is_whole(self) -> bool:
        """Whether both times were watched, so that their counts are comparable."""
        return self.now.is_whole and self.earlier.is_whole


class Trend(StrEnum):
    WORSE = "Getting worse"
    BETTER = "Getting better"
    SAME = "No clear change"
    UNKNOWN = "Trend not known"


def trend_of(compared: Compared) -> Trend:
    """Conclude the trend from two counts; a difference that chance explains does not count.

    By chance, counts of rare, independent events differ by at most twice the root of their sum in
    about 95 of 100 cases.
    """
    more = compared.total - compared.before
    is_clear = more**2 > _BEYOND_CHANCE * (compared.total + compared.before)
    if is_clear and more > 0 and compared.earlier.is_whole:
        return Trend.WORSE
    if is_clear and more < 0 and compared.now.is_whole:
        return Trend.BETTER
    return Trend.SAME if compared.is_whole and not is_clear else Trend.UNKNOWN


def trend_words(compared: Compared, window: Window) -> str:
    """Say in one sentence whether it is getting worse, with both counts.

    `Getting worse: 6 rejections in the last 24 h, none in the 24 h before.`
    """
    many = _counted(compared.total, compared.now)
    length = window.length_words
    if not compared.earlier.watched:
        return f"{many} {window.words}{_gaps(compared.now)}; the {length} before was not watched."
    before = _before(compared)
    if not (compared.total or compared.before) and compared.is_whole:
        return f"{many} {window.words}, and none in the {length} before."
    return (
        f"{trend_of(compared)}: {uncapitalized(many)} {window.words}{_gaps(compared.now)}, "
        f"{before} in the {length} before{_gaps(compared.earlier)}."
    )


def _before(compared: Compared) -> str:
    number = f"{compared.before:,}" if compared.before else "none"
    if compared.earlier.is_whole:
        return number
    return f"{number} or more" if compared.before else "none seen"


def _counted(number: int, watched: WatchedTime) -> str:
    return capitalized(seen_rejections(number, is_whole=watched.is_whole))


def _gaps(watched: WatchedTime) -> str:
    """Say how much was watched, unless everything was."""
    if watched.is_whole:
        return ""
    return f" ({span(watched.watched) if watched.watched else 'none'} of it watched)"
