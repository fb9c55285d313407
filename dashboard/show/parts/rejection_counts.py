"""Rejections counted: over time, by module, stage, network, sender, and by how far they went over.

A count is a filter too: a click on it narrows the page, a second click undoes that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.rejection_timeline import Overruns, Shown, SplitBy, Timeline
from dashboard.application.rejections import LATEST_SORTED, RejectionSummary
from dashboard.application.time_ranges import Zoom, zoomed
from dashboard.domain.formatting import counted, moment, share
from dashboard.domain.markup import Markup, breakable, element, plain_label, visible
from dashboard.domain.rejections.exclusion import or_unknown
from dashboard.domain.rejections.reasons import KIND_NAMES
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.show.charts.figure import LONGEST_NAME
from dashboard.show.charts.rejection_chart import (
    HEIGHT,
    OVERRUN_HEIGHT,
    module_colour,
    overrun_csv,
    overrun_drawing,
    timeline_csv,
    timeline_drawing,
    timeline_legend,
    timeline_rows,
)
from dashboard.show.parts.chart import Dragging, chart, dragging, zoom_to
from dashboard.show.parts.frame import card, expander, section
from dashboard.show.parts.list_page import choice_filter, file_button
from dashboard.show.parts.notices import empty
from dashboard.show.parts.table import wide_table
from dashboard.store.rejections.counts import LATEST_RANKED, GroupCounts, Grouping

SPLIT: Final = "by"
"""The parameter of the address that says by what the chart is split."""

MOST_RANKED: Final = 8
_CHART: Final = "rejections-over-time"
_FEWEST: Final = 2
_LONGEST_COUNTED: Final = 64
_LARGE_SHARE: Final = 0.1
_TWICE: Final = 2

Choose = Callable[[str], None]


class Narrowing(Struct, frozen=True):
    """The present filter, and what a click on a module, stage, sender or network does.

    `time` is called when another period was chosen in the chart.
    """

    wanted: RejectionFilter
    shown: Shown
    module: Choose
    stage: Choose
    sender: Choose
    network: Choose
    time: Callable[[], None]


def timeline_part(queries: Application, narrowing: Narrowing, words: str) -> None:
    """Show when rejections arrived; a click on a bar, or a drag, shows that period alone.

    A double click shows all of it again.
    """
    splits = [each for each in SplitBy if each is not SplitBy.NETWORK or _are_several(queries)]
    with st.container(horizontal=True, vertical_alignment="center", key="head-when"):
        section("Over time", "Click a bar or drag to zoom in, double-click to zoom out.")
        name = choice_filter("Split by", [str(each) for each in splits], SPLIT, SplitBy.MODULE)
    timeline = queries.rejections.timeline(narrowing.wanted, narrowing.shown, SplitBy(name))
    if not timeline.total:
        wanted = narrowing.wanted.network_id
        shown = [each for each in queries.networks if wanted in {None, each.network_id}]
        ended = ": line limits have ended" if queries.line_limits.have_ended(shown) else ""
        empty(
            f"No rejection in this time{ended}", "Remove a filter above, or choose a longer time."
        )
        return
    _chart(timeline, narrowing, words, queries.now())
    st.html(_legend(timeline))
    with st.container(horizontal=True, vertical_alignment="top", key="head-table"):
        columns, rows = timeline_rows(timeline)
        summary = element("summary", "The same as a table (UTC)")
        numbers = wide_table(columns, rows, "Rejections over time")
        st.html(element("details", summary, numbers, class_="lw-more"))
        file_button(
            lambda: timeline_csv(timeline),
            f"rejections-by-{timeline.split.lower()}-{timeline.window.since:%Y%m%dT%H%M%SZ}.csv",
            "csv-timeline",
            note="The counts of this chart.",
        )


def _legend(timeline: Timeline) -> Markup:
    entries = []
    for name, colour, count in timeline_legend(timeline):
        sign = element("i", style=f"background: {colour}", aria_hidden="true")
        number = element("b", f"{count:,}")
        entries.append(element("span", sign, breakable(visible(name, LONGEST_NAME)), " ", number))
    if timeline.unwatched:
        sign = element("i", class_="is-unwatched", aria_hidden="true")
        entries.append(element("span", sign, "not watched: there may be more"))
    for name, at in timeline.ends:
        said = f"┊ line limits of {visible(name, LONGEST_NAME)} ended {moment(at)}"
        entries.append(element("span", said))
    return element("p", *entries, class_="lw-legend")


def _chart(timeline: Timeline, narrowing: Narrowing, words: str, now: datetime) -> None:
    zooming = dragging(narrowing.shown if isinstance(narrowing.shown, Zoom) else None, now)

    def chosen(edges: Sequence[Any] | None) -> None:
        zooming.chosen(edges)
        narrowing.time()

    def clicked(number: int) -> None:
        zoom_to(time_of_bar(timeline, number, now))
        narrowing.time()

    drawing, name = timeline_drawing(timeline, words), f"rejections-by-{timeline.split.lower()}"
    chart(drawing, _CHART, HEIGHT, name, Dragging(timeline.window.words, chosen, clicked))


def time_of_bar(timeline: Timeline, number: int, now: datetime) -> Zoom | None:
    """Return the period of a bar, within what is shown."""
    window = timeline.window
    if not 0 <= number < len(window.begins):
        return None
    begins = window.begins[number]
    since, until = max(begins, window.since), min(begins + window.step, window.until)
    return zoomed(since.replace(microsecond=0), until, now.replace(microsecond=0))


def modules_part(queries: Application, narrowing: Narrowing) -> None:
    """Rank the modules, each beside the period before; separately, reasons without a module."""
    of_all = replace(narrowing.wanted, module=None, reason_kind=None)
    summary = queries.rejections.summary(of_all, narrowing.shown)
    chosen = narrowing.wanted.module
    with st.container(key="card-modules", gap="xsmall", height="stretch"):
        section("Modules", "A reason names one module at most.")
        ranked = summary.modules.most_common()
        rows = [
            CountRow(name, name, count, _difference(summary, name), module_colour(name))
            for name, count in ranked[:MOST_RANKED]
        ]
        count_list("modules", rows, chosen, narrowing.module)
        rest = ranked[MOST_RANKED:]
        if rest:
            more = sum(count for _, count in rest)
            said = f"{counted(len(rest), 'other module')}: {more:,}. Choose one in the filter."
            st.html(element("p", said, class_="lw-quiet"))
        if not rows:
            st.html(element("p", "No reason names a module.", class_="lw-quiet"))
        _without_module(summary, narrowing)


def _difference(summary: RejectionSummary, module: str) -> str:
    """Say how many more or fewer than in the period before, if both were watched."""
    if not summary.compared.is_whole:
        return ""
    more = summary.modules[module] - summary.modules_before[module]
    return f"{more:+,}".replace("-", "−") if more else "±0"  # noqa: RUF001 - a minus of this width


def _without_module(summary: RejectionSummary, narrowing: Narrowing) -> None:
    kinds = [(KIND_NAMES[kind], many) for kind, many in summary.kinds.most_common() if many]
    if not kinds:
        return
    st.html(element("h3", "Without a module", class_="lw-subhead"))
    chosen = KIND_NAMES.get(narrowing.wanted.reason_kind) if narrowing.wanted.reason_kind else None
    rows = [CountRow(name, name, many) for name, many in kinds]
    count_list("kinds", rows, chosen, narrowing.module)


def overruns_part(queries: Application, narrowing: Narrowing) -> None:
    """Show by how far transactions went over their limits."""
    overruns = queries.rejections.overruns(narrowing.wanted, narrowing.shown)
    with st.container(key="card-overruns", gap="small", height="stretch"):
        with st.container(horizontal=True, vertical_alignment="center", key="head-overruns"):
            section("Overrun", "Lines needed divided by lines allowed.")
            file_button(
                lambda: overrun_csv(overruns),
                "overruns.csv",
                "csv-overruns",
                disabled=not overruns.total,
            )
        if not overruns.total:
            empty("No overrun to show", "No reason in this time names lines needed and allowed.")
            return
        chart(overrun_drawing(overruns), "overruns", OVERRUN_HEIGHT, "overruns")
        st.html(element("p", _overruns_in_words(overruns), class_="lw-quiet"))


def _overruns_in_words(overruns: Overruns) -> str:
    largest = "" if overruns.largest is None else f" Largest: {overruns.largest:,.2f}×."
    reasons = counted(overruns.of, "reason")
    latest = f"the latest {reasons}" if overruns.of >= LATEST_SORTED else reasons
    if overruns.total == overruns.of:
        return f"From {latest}.{largest}"
    return f"From {overruns.total:,} of {latest}; the others name no lines.{largest}"


def stages_part(queries: Application, narrowing: Narrowing) -> None:
    of_all = replace(narrowing.wanted, tx_rejection_stage=None)
    counted = queries.rejections.groups(of_all, narrowing.shown, Grouping.STAGE)
    section("Stages", "Where transactions were rejected.")
    rows = [CountRow(each.key, each.key, each.count) for each in counted.groups]
    stage = narrowing.wanted.tx_rejection_stage
    count_list("stages", rows, None if stage is None else stage.value, narrowing.stage)


def networks_part(queries: Application, narrowing: Narrowing) -> None:
    """Count by network, if there are several."""
    if not _are_several(queries):
        return
    of_all = replace(narrowing.wanted, network_id=None)
    counted = queries.rejections.groups(of_all, narrowing.shown, Grouping.NETWORK)
    section("Networks")
    rows = [
        CountRow(queries.network_name(each.key), str(each.key), each.count)
        for each in counted.groups
    ]
    network_id = narrowing.wanted.network_id
    chosen = None if network_id is None else str(network_id)
    count_list("networks", rows, chosen, narrowing.network)


def _are_several(queries: Application) -> bool:
    return sum(each.has_exclusion for each in queries.networks) >= _FEWEST


def senders_part(queries: Application, narrowing: Narrowing) -> None:
    """Rank the senders, if there are several; folded unless one stands out."""
    ranked = queries.rejections.senders(replace(narrowing.wanted, sender=None), narrowing.shown)
    if ranked.of < _FEWEST:
        return
    if stands_out(ranked):
        with card("senders", "Senders", _senders_note(ranked)):
            _senders(ranked, narrowing)
        return
    most = counted(ranked.groups[0].count, "rejection")
    with expander(f"Senders: {ranked.of:,}, at most {most} each", "senders-folded"):
        st.html(element("p", _senders_note(ranked), class_="lw-quiet"))
        _senders(ranked, narrowing)


def stands_out(counted: GroupCounts) -> bool:
    """Whether the first sender has a share worth a look: a tenth, and twice the usual."""
    first = counted.groups[0].count
    return first >= _LARGE_SHARE * counted.total and first * counted.of >= _TWICE * counted.total


def _senders_note(counted: GroupCounts) -> str:
    more = f"The first {len(counted.groups)} of {counted.of:,}. "
    rest = more if counted.of > len(counted.groups) else ""
    latest = f"Of the latest {LATEST_RANKED:,}. " if counted.total >= LATEST_RANKED else ""
    return f"{latest}{rest}To be notified of a sender's rejections, watch it on Tracked."


def _senders(counted: GroupCounts, narrowing: Narrowing) -> None:
    rows = [
        CountRow(
            or_unknown(each.key), str(each.key or ""), each.count, share(each.count / counted.total)
        )
        for each in counted.groups
    ]
    sender = narrowing.wanted.sender
    count_list("senders", rows, None if sender is None else str(sender), narrowing.sender)


class CountRow(Struct, frozen=True):
    """One count: its name, which may be foreign, what a click chooses, and a remark beside it.

    If `value` is empty, it cannot be chosen. `colour` is that of its bar, if it has one of its own.
    """

    name: str
    value: str
    count: int
    note: str = ""
    colour: str = ""


def count_list(
    key: str, rows: Sequence[CountRow], chosen: str | None, choose: Callable[[str], None]
) -> None:
    """Show counts; a click on one, or Enter, calls `choose` with its value, chosen or not."""
    highest = max((each.count for each in rows), default=0) or 1
    with st.container(key=f"counts-{key}", gap=None):
        for number, row in enumerate(rows):
            kind = "count" if row.value else "counted"
            with st.container(key=f"{kind}-{key}-{number}", gap=None):
                is_chosen = row.value == chosen
                st.html(_cells(row, highest, is_chosen=is_chosen))
                if not row.value:
                    continue
                doing = "All, not only" if is_chosen else "Only"
                st.button(
                    f"{doing} {plain_label(row.name, _LONGEST_COUNTED)}: {row.count:,}",
                    key=f"choose-{key}-{row.value}",
                    on_click=choose,
                    args=(row.value,),
                )


def _cells(row: CountRow, highest: int, *, is_chosen: bool) -> Markup:
    colour = f"; background: {row.colour}" if row.colour else ""
    bar = element("i", style=f"width: {row.count / highest:.1%}{colour}", aria_hidden="true")
    name = breakable(visible(row.name, _LONGEST_COUNTED))
    return element(
        "div",
        element("span", name, class_="lw-mono" if row.name.startswith("0x") else None),
        element("small", row.note) if row.note else Markup(),
        element("b", f"{row.count:,}"),
        element("div", bar, class_="lw-meter"),
        class_="lw-count is-chosen" if is_chosen else "lw-count",
        aria_hidden="true" if row.value else None,
    )
