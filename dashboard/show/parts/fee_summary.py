"""Fees in words: what to pay now, what the chart shows, and when it is cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import streamlit as st

from dashboard.application.fee_listing import fee_csv
from dashboard.application.fee_timeline import NO_MARKS, FeeMarks, FeeTimeline, busy_in_words
from dashboard.application.fees import FeeView
from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import (
    Activity,
    NetworkProfile,
    NetworkStatus,
    PolledValue,
)
from dashboard.application.overview import UsualNow
from dashboard.application.text import age
from dashboard.domain.fees.busy_spells import USUAL_DAYS
from dashboard.domain.fees.cheap_hours import UsualWeek
from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.formatting import capitalized, counted, fee, share, span
from dashboard.domain.health.coverage import Stretch
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.tracking.transaction_cost import (
    USUAL_ACTIONS,
    GasUse,
    cost_of,
    in_coin,
    in_money,
)
from dashboard.show.charts.week_map import HEIGHT, week_csv, week_drawing, week_table
from dashboard.show.parts.chart import chart
from dashboard.show.parts.frame import in_line
from dashboard.show.parts.list_page import choice_filter, file_button
from dashboard.show.parts.network_card import figure, unbroken
from dashboard.show.parts.notices import empty
from dashboard.show.parts.table import data_table, list_table
from dashboard.store.fees.series import FeeStep

_TREND_LENGTH = 40
_ALL = 0.995
"""The share of blocks that counts as all: blocks are never quite regular."""


def costs(suggested: PolledValue[SuggestedGasFees], profile: NetworkProfile, now: datetime) -> None:
    """Show what usual actions cost at most, in the coin of the network and in money if priced.

    Upstream also gives waiting times, which are set by hand, and ranges of fees without saying over
    how many blocks: both are left out.
    """
    fees = suggested.value
    listing: Listing[GasUse] = Listing(
        "costs",
        (
            Column("Action", _action),
            _cost("Low", fees.low, profile),
            _cost("Medium", fees.medium, profile),
            _cost("High", fees.high, profile),
        ),
    )
    is_stale = suggested.is_stale(now)
    note = (
        f"{'Stale: suggested' if is_stale else 'Suggested'} {age(suggested.asked_at, now)}. "
        f"Base fee trend: {_trend(fees.base_fee_trend)}; "
        f"priority fees: {_trend(fees.priority_fee_trend)}. "
        "Some roll-ups add a charge for data."
    )
    table = list_table(listing, USUAL_ACTIONS, "Maximum cost of common actions")
    costs = element("div", table, class_="lw-table-old") if is_stale else table
    st.html(join(costs, element("p", note, class_="lw-quiet lw-spaced")))


def _trend(word: str) -> str:
    return visible(word, _TREND_LENGTH)


def _action(action: GasUse) -> Markup:
    return join(action.name, " ", element("small", f"{action.gas:,} gas", title=action.source))


def _cost(name: str, level: FeeSuggestion, profile: NetworkProfile) -> Column[GasUse]:
    """Return the column of what actions cost at a level."""

    def text(action: GasUse) -> Markup:
        amount = cost_of(level.suggested_max_fee_per_gas, action.gas)
        coins = in_coin(amount, profile.coin)
        if profile.coin_price is None:
            return element("span", coins)
        return join(coins, " ", element("small", in_money(amount, profile.coin_price)))

    return Column(name, text, is_number=True)


def timeline_in_words(
    timeline: FeeTimeline,
    name: str,
    length: timedelta,
    *,
    marks: FeeMarks = NO_MARKS,
    is_table: bool = False,
) -> Markup:
    """Say what a chart with steps of a length shows: extremes, busy share, gaps.

    How it is drawn, and how far it can be trusted, is folded; a table needs no explanation.
    """
    said = [
        *_extremes(timeline, name),
        *_late_beginning(timeline, "" if is_table else " (hatched)"),
        *_gaps(timeline, _TABLE_MARKS if is_table else _CHART_MARKS),
        *([] if is_table else _mark_meanings(marks)),
    ]
    drawn = [*_shades(timeline), *_unreadable_threshold(timeline), *_band_meaning(timeline, length)]
    about = [
        *([f"Each row is {span(length)}."] if is_table else drawn),
        *_blocks_seen(timeline),
        *_estimated_times(timeline),
    ]
    summary = element("summary", "About this table" if is_table else "How to read it")
    rest = element("p", " ".join(about), class_="lw-quiet")
    folded = element("details", summary, rest, class_="lw-more") if about else Markup()
    return join(element("p", " ".join(said), class_="lw-quiet"), folded)


def _mark_meanings(marks: FeeMarks) -> list[str]:
    """Explain the marks in the chart."""
    ticks = ["Ticks at the bottom are rejections."] if marks.arrivals else []
    return [*ticks, *(["Triangles at the top are incidents."] if marks.incidents else [])]


def fee_file(view: FeeView, network_id: NetworkId, name: str) -> None:
    """Offer the figures of a chart in a file of this name."""
    note = "The figures of this chart, in whole wei."
    file_button(lambda: fee_csv(view.timeline, network_id), f"{name}.csv", f"csv-{name}", note=note)


def caveats_in_words(timeline: FeeTimeline) -> str:
    """Say only what is incomplete in the chart: a late beginning, and blocks not seen."""
    return " ".join([*_late_beginning(timeline, " (hatched)"), *_blocks_seen(timeline)])


def _late_beginning(timeline: FeeTimeline, mark: str) -> list[str]:
    if not timeline.begins_late:
        return []
    return [f"No fee was seen before {timeline.steps[0].first_at:%d %b %Y %H:%M} UTC{mark}."]


def _extremes(timeline: FeeTimeline, name: str) -> list[str]:
    lowest, highest = (" ".join(fee(edge)) for edge in (timeline.lowest, timeline.highest))
    if timeline.is_flat:
        return [f"{name}: {lowest} throughout."]
    busy = busy_in_words(timeline)
    return [f"Lowest {lowest}, highest {highest}.", *([] if busy is None else [busy])]


def _shades(timeline: FeeTimeline) -> list[str]:
    """Say how busy time is shaded."""
    parts = np.nan_to_num(timeline.busy_parts)
    if busy_in_words(timeline) is None or not parts.any():
        return []
    if ((parts > 0) & (parts < 1)).any():
        return ["Shaded: the height is the busy share of each step."]
    return ["Shaded: busy time."]


def _unreadable_threshold(timeline: FeeTimeline) -> list[str]:
    """Say between what values the busy threshold moved, if it cannot be drawn."""
    level = timeline.threshold
    if level is None or timeline.can_be_read(level):
        return []
    lowest, highest = (" ".join(fee(Wei(int(edge)))) for edge in (level.min(), level.max()))
    return [f"The busy threshold moved between {lowest} and {highest}, too often to be drawn."]


class _Marks(NamedTuple):
    """The words after the number of gaps, for unwatched time and for pauses.

    `short` is for gaps and pauses that are shorter than a step.
    """

    gap: str
    unwatched: str
    pause: str
    short: str


_CHART_MARKS: Final = _Marks(
    "hatched",
    "hatched",
    "hatched: watched, but no fee came",
    "too short to be drawn",
)
_TABLE_MARKS: Final = _Marks("", "", "watched, but no fee came", "inside")


def _gaps(timeline: FeeTimeline, marks: _Marks) -> list[str]:
    """Say when it was not watched, as Health does, and when no fee came though it was."""
    holes, inside = timeline.gaps(), timeline.pauses_inside()
    if timeline.busy.watched is None:
        without = [] if holes or inside else _no_gaps(is_late=timeline.begins_late)
        return [*without, *_many("gap", holes, marks.gap), *_short("gap", inside, marks.short)]
    missed = timeline.busy.watched.missed
    gaps = [each for each in missed if each[0] > timeline.busy.watched.since]
    is_late = len(gaps) < len(missed)
    began = [f"Not watched before {missed[0][1]:%d %b %Y %H:%M} UTC."] if is_late else []
    return [
        *([] if timeline.begins_late else began),
        *(_many("gap", gaps, marks.unwatched) or _no_gaps(is_late=is_late)),
        *_many("pause", _apart(holes, missed), marks.pause),
        *_short("pause", [each for each in inside if _apart([each[:2]], missed)], marks.short),
    ]


def _no_gaps(*, is_late: bool) -> list[str]:
    return ["No gaps since." if is_late else "No gaps."]


def _apart(stretches: Sequence[Stretch], missed: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches that were watched throughout."""
    return [
        (begins_at, ends_at)
        for begins_at, ends_at in stretches
        if not any(begin < ends_at and begins_at < end for begin, end in missed)
    ]


def _many(name: str, stretches: Sequence[Stretch], shown: str) -> list[str]:
    """Say how many there are, and which is the longest."""
    if not stretches:
        return []
    many = counted(len(stretches), name) + (f" ({shown})" if shown else "")
    longest = _stretch(max(stretches, key=_length))
    return [f"{many}, the longest: {longest}." if stretches[1:] else f"{many}: {longest}."]


def _short(name: str, inside: Sequence[FeeStep], place: str) -> list[str]:
    """Report those too short for the chart, which does not know where in a step they are."""
    if not inside:
        return []
    longest = max(inside, key=lambda step: step.longest_gap)
    many = counted(len(inside), f"step has a {name}", f"steps have {name}s")
    sentence = (
        f"{many} {place}, the longest: {span(longest.longest_gap)} "
        f"between {longest.first_at:%d %b %H:%M} and {longest.last_at:%d %b %H:%M} UTC."
    )
    return [sentence]


def _blocks_seen(timeline: FeeTimeline) -> list[str]:
    """Say how many of the blocks the extremes cover, unless they cover all."""
    seen = timeline.block_share()
    if seen is None:
        return ["The share of blocks seen is not known: set block_time of the network."]
    if seen >= _ALL:
        return []
    return [f"{share(seen)} of the blocks were seen; the others may lie above or below."]


def _length(stretch: Stretch) -> timedelta:
    return stretch[1] - stretch[0]


def _stretch(stretch: Stretch) -> str:
    return f"{span(_length(stretch))} from {stretch[0]:%d %b %H:%M} UTC"


def _band_meaning(timeline: FeeTimeline, length: timedelta) -> list[str]:
    if (timeline.steps.values == 1).all():
        return []
    step = span(length)
    if not timeline.holds_many:
        return [f"The line is the mean of each {step}; the band, its lowest to highest."]
    sentence = (
        f"The line is the mean of each {step}; the dark band reaches from its median to its 90th "
        "percentile, the light one from its lowest to its highest."
    )
    return [sentence]


def _estimated_times(timeline: FeeTimeline) -> list[str]:
    if not timeline.steps.estimated.any():
        return []
    return ["The times of blocks that no poll saw are estimated: the base fee history lacks them."]


_UTC: Final = "UTC"
_LOCAL: Final = "Local time"


def chosen_zone() -> tuple[tzinfo, str]:
    """Offer UTC or the time zone of the browser; return the chosen one and its name."""
    chosen = choice_filter("Hours in", [_UTC, _LOCAL], "zone", _UTC)
    return (UTC, _UTC) if chosen == _UTC else zone_named(st.context.timezone)


def zone_named(name: str | None) -> tuple[tzinfo, str]:
    """Return the time zone that a browser names; UTC if there is none of that name."""
    try:
        zone = ZoneInfo(name or _UTC)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return UTC, _UTC
    return (UTC, _UTC) if zone.key == _UTC else (zone, zone.key)


def cheap_hours(
    status: NetworkStatus,
    week: UsualWeek,
    usual: UsualNow,
    now: datetime,
    zone: tuple[tzinfo, str],
    *,
    is_table: bool,
) -> None:
    """Say when it is cheap and how now compares, above a heat map of the week, or its table."""
    said = cheap_in_words(status, week, usual, zone, now)
    st.html(join(*(element("p", each, class_="lw-lede") for each in said)))
    if not week.is_known:
        empty(
            "Not enough history for a week yet",
            "Each cell needs at least three such hours, which takes three weeks.",
        )
        return
    if is_table:
        data_table(week_table(week))
    else:
        _map(status, week, now, zone)
    _below(week, status.profile.network_id, zone[1], is_table=is_table)


def _map(status: NetworkStatus, week: UsualWeek, now: datetime, zone: tuple[tzinfo, str]) -> None:
    network_id, local = status.profile.network_id, now.astimezone(zone[0])
    name = f"{status.figures.signal.capitalize()} of {status.profile.name}"
    drawing = week_drawing(week, name, zone[1], (local.weekday(), local.hour))
    chart(drawing, f"hours-{network_id}", HEIGHT, f"hours-{network_id}")


def _below(week: UsualWeek, network_id: NetworkId, zone_name: str, *, is_table: bool) -> None:
    """Say what the map or its table shows, and offer its file."""
    marks = "" if is_table else " Red frame: now. Line above: the cheapest hours."
    meaning = f"Each cell: the median of its hours in {USUAL_DAYS} days ({zone_name}).{marks}"
    with in_line(f"beside-hours-{network_id}"):
        st.html(element("p", meaning, class_="lw-quiet", title=_BLANK))
        file_button(
            lambda: week_csv(week, network_id, zone_name),
            f"hours-{network_id}.csv",
            f"csv-hours-{network_id}",
            note="The medians of this picture, in whole wei.",
        )


_BLANK: Final = "A cell is blank if fewer than three such hours are known. No fee is forecast."


def cheapest_figure(week: UsualWeek, zone: tuple[tzinfo, str], now: datetime) -> Markup:
    """Build the figure of the cheapest hours of the day."""
    name, cheapest = "Cheapest hours", week.cheapest
    if cheapest is None:
        return figure(name, Markup("–"), "known after three days")
    why = cheapest.in_words(now, *zone)
    if not cheapest.is_clear:
        return figure(name, Markup("none"), "no hours are clearly cheaper", why)
    hours = element("span", cheapest.hours.replace(" to ", "–"), class_="lw-hours")
    when = unbroken(cheapest.when(now, zone[0]))
    return figure(name, hours, f"{cheapest.compared} median, {when}", why)


def cheap_in_words(
    status: NetworkStatus, week: UsualWeek, usual: UsualNow, zone: tuple[tzinfo, str], now: datetime
) -> list[str]:
    """Say what is known of cheap hours, of now, of busy spells and of the last week."""
    fee_now = None if status.activity is Activity.STALE else status.figures.judged_fee
    cheap = (
        "The cheapest hours appear once three days of every hour are known."
        if week.cheapest is None
        else week.cheapest.in_words(now, *zone)
    )
    beside = None if fee_now is None else week.beside_now(fee_now)
    busy = None if usual.spells is None else capitalized(f"{usual.spells.in_words()}.")
    weeks = None if week.weeks is None else capitalized(week.weeks.in_words())
    return [each for each in (cheap, beside, busy, weeks) if each is not None]
