"""Gaps in what was watched: seven days at a glance, and a list of the latest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.coverage import Gap, GapCause, Watched, WatchedTime
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import counted
from dashboard.show.parts.badges import badge
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.strips import gap_strip
from dashboard.show.parts.table import table
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.health import Coverage
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.show.text import moment, span

SHOWN: Final = timedelta(days=7)
MOST_LISTED: Final = 20
_COLUMNS: Final = ("Network", "What", "From (UTC)", "Until", "Length", "Why")
_REASON_LENGTH: Final = 200
_WATCHED_NAMES: Final = {Watched.FEES: "Fees", Watched.REJECTIONS: "Rejections"}
_NO_WORKER: Final = "No worker ran"


def gap_timeline(coverage: Coverage, networks: Sequence[NetworkProfile], now: datetime) -> Markup:
    """Draw a strip for each part of a network that has gaps; name the networks without."""
    between = (now - SHOWN, now)
    rows: list[Markup] = []
    whole, never = [], []
    for profile in networks:
        began = coverage.began_at(profile.network_id)
        drawn = [_strip_row(coverage, profile, watched, between) for watched in Watched]
        rows += filter(None, drawn)
        if began is None:
            never.append(profile.name)
        elif not any(drawn):
            since = f" (watched since {moment(began)})" if began > between[0] else ""
            whole.append(f"{profile.name}{since}")
    said = {"No gaps": whole, "Never watched": never}
    rest = " ".join(f"{words}: {', '.join(names)}." for words, names in said.items() if names)
    if rows:
        empty = element("span")
        rows.append(element("div", empty, empty, _axis(now), class_="lw-gaps-row"))
    return join(
        element("div", *rows, class_="lw-gaps") if rows else Markup(),
        element("p", rest, class_="lw-quiet") if rest else Markup(),
    )


def _strip_row(
    coverage: Coverage,
    profile: NetworkProfile,
    watched: Watched,
    between: tuple[datetime, datetime],
) -> Markup | None:
    since, until = between
    gaps = [
        (each.begins_at, each.ends_at or until)
        for each in coverage.gaps
        if (each.network_id, each.watched) == (profile.network_id, watched)
    ]
    time = WatchedTime.of(since, until, gaps)
    if not time.missed:
        return None
    missed = time.length - time.watched
    many = counted(len(time.missed), "gap")
    what = f"{profile.name}, {_WATCHED_NAMES[watched].lower()}"
    words = f"{what}: {many} in 7 days, {span(missed)} in all."
    began = coverage.began[watched].get(profile.network_id)
    return element(
        "div",
        element("span", element("b", profile.name), " ", _WATCHED_NAMES[watched].lower()),
        element("span", f"{many}, {span(missed)}", class_="lw-quiet"),
        gap_strip(time.missed, between, began, words),
        class_="lw-gaps-row",
    )


def _axis(now: datetime) -> Markup:
    """Name the first day, the middle, and now."""
    days = (now - SHOWN, now - SHOWN / 2)
    marks = [element("span", f"{each:%d %b %H:%M}") for each in days]
    return element("span", *marks, element("span", "now"), class_="lw-axis")


def gap_table(gaps: Sequence[Gap], context: QueryContext, now: datetime) -> Markup:
    """List gaps, the latest first."""
    return table(_COLUMNS, [_gap_row(gap, context, now) for gap in gaps], "Gaps")


def _gap_row(gap: Gap, context: QueryContext, now: datetime) -> tuple[Markup | str, ...]:
    ends = badge("busy", "!", "Ongoing") if gap.ends_at is None else _gap_time(gap.ends_at)
    return (
        context.network_name(gap.network_id),
        _WATCHED_NAMES[gap.watched],
        _gap_time(gap.begins_at),
        ends,
        span(gap.length(now)),
        _NO_WORKER if gap.cause is GapCause.NOT_WATCHED else visible(gap.reason, _REASON_LENGTH),
    )


def _gap_time(at: datetime) -> Markup:
    return element("time", f"{at:%d %b %H:%M:%S}", title=moment(at))
