"""Overview answers: is anything wrong now, on which network, since when, is the data fresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.attention import Attention
from dashboard.application.context import TtlCache
from dashboard.application.fees import FeeView
from dashboard.application.network_status import Activity, NetworkProfile, NetworkStatus
from dashboard.application.overview import (
    HourlyRejections,
    RejectedAgain,
    network_summary,
    severities,
    worst_first,
)
from dashboard.application.time_ranges import TIME_RANGES
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.quantity import NetworkId
from dashboard.show.charts.fee_chart import drawing_of
from dashboard.show.parts.acting import done_shown
from dashboard.show.parts.attention_list import attention_line, last_look
from dashboard.show.parts.chart import chart, chosen_zoom, dragging, unzoom_button
from dashboard.show.parts.fee_summary import caveats_in_words, fee_file
from dashboard.show.parts.frame import (
    NETWORK,
    chosen_networks,
    heading,
    in_line,
    link,
    live,
    quiet,
    section,
)
from dashboard.show.parts.list_page import (
    PERIOD,
    RANGE,
    USUAL_PERIOD,
    choice_filter,
    opened,
)
from dashboard.show.parts.network_card import unbroken, verdict
from dashboard.show.parts.network_rows import NetworkRow, network_row, network_rows_head, row_markup
from dashboard.show.parts.notices import (
    empty,
    limits_notes,
    no_base_fee,
    no_network,
    store_errors_shown,
)
from dashboard.show.parts.rejection_table import coverage, rejection_markup, rejection_row
from dashboard.show.parts.wall import WALL, wall, wall_button, wall_errors_shown

REFRESH: Final = timedelta(seconds=4)
NEWEST: Final = 8
_DRAWN_FOR: Final = timedelta(seconds=1)
CHART_HEIGHT: Final = 300
_USUAL: Final = "1 h"
SHORT_TIME_RANGES: Final = {each.name: each for each in TIME_RANGES[:4]}
"""The shortest lengths; the page Fees has the others."""


class NetworksShown(StrEnum):
    ALL = "All"
    FAILING = "Failing"
    STALE = "Stale"
    BUSY = "Busy"
    REJECTING = "Rejections"


@live(REFRESH)
def page() -> None:
    """Show the page, all of which refreshes by itself."""
    queries = application.current()
    is_wall = st.query_params.get(WALL) == "1"
    with wall_errors_shown() if is_wall else store_errors_shown("Overview"):
        chosen = chosen_networks(queries.networks)
        now, known = queries.statuses_as_of()
        statuses = [each for each in known if each.profile in chosen]
        needed = queries.needed_attention(statuses, now)
        if is_wall and statuses:
            ranked = _ranked(queries, statuses, needed)
            wall([_row(queries, each, now) for each in ranked], needed, now)
            return
        summary = "" if len(statuses) == 1 else network_summary(statuses, now)
        heading("Overview", summary, now)
        if not statuses:
            no_network()
            return
        with store_errors_shown():
            done_shown(queries)
            attention_line(queries, needed)
        limits_notes(queries.line_limits.sentences([each.profile for each in statuses]))
        with store_errors_shown():
            last_look(queries, now)
        if len(statuses) == 1:
            _one(queries, statuses[0], now)
        else:
            _many(queries, statuses, needed, now)
        wall_button()


def _one(queries: Application, status: NetworkStatus, now: datetime) -> None:
    """Show one network: verdict, chart, and the newest rejections beside."""
    profile = status.profile
    with st.container(key=f"card-verdict-{profile.network_id}", gap="small"):
        _verdict(queries, status, now)
    chart, newest = st.columns([8, 5], gap="small")
    card = chart.container(key=f"card-network-{profile.network_id}", gap="small")
    with card, store_errors_shown():
        _chart_card(queries, status, now)
    with newest, st.container(key="card-rejections", gap=None), store_errors_shown():
        _rejections(queries, [profile], now)


def _many(
    queries: Application,
    statuses: Sequence[NetworkStatus],
    needed: Sequence[Attention],
    now: datetime,
) -> None:
    """Show one row for each network, the worst first, and below the newest rejections."""
    ranked, urgent = _ranked(queries, statuses, needed), severities(needed)
    with st.container(key="card-networks", gap=None):
        kind = choice_filter("Networks shown", list(NetworksShown), "show", NetworksShown.ALL)
        hourly = queries.overview.hourly()
        shown = [each for each in ranked if _is_of(kind, each, hourly)]
        network_rows_head()
        for status in shown:
            is_open = opened() == str(status.profile.network_id)
            severity = urgent.get(status.profile.network_id, "")
            drawn = _drawn_row(queries, status, now, severity)
            network_row(status.profile, drawn, is_open=is_open)
            if is_open:
                _opened(queries, status, now)
        if not shown:
            empty("No network matches now", "Choose All to see every network.")
    with st.container(key="card-rejections", gap=None), store_errors_shown():
        _rejections(queries, [each.profile for each in statuses], now)


def _ranked(
    queries: Application, statuses: Sequence[NetworkStatus], needed: Sequence[Attention]
) -> list[NetworkStatus]:
    """Put the worst first."""
    counts = {each: found.count for each, found in queries.overview.hourly().items()}
    urgent = severities(needed)

    def place(status: NetworkStatus) -> tuple[int, int, int, str]:
        network_id = status.profile.network_id
        return worst_first(status, counts.get(network_id, 0), urgent.get(network_id, ""))

    return sorted(statuses, key=place)


def _drawn_row(queries: Application, status: NetworkStatus, now: datetime, severity: str) -> Markup:
    """Return the drawn row: one for everybody who looks at the same moment."""
    key = ("row", status.profile.network_id, now, severity)
    return _drawn(queries).get(key, lambda: row_markup(_row(queries, status, now, severity)))


@lru_cache(maxsize=1)
def _drawn(queries: Application) -> TtlCache[Markup]:
    """Return cached drawings of answers that all viewers share."""
    return TtlCache(_DRAWN_FOR, queries.now)


def _row(
    queries: Application, status: NetworkStatus, now: datetime, severity: str = ""
) -> NetworkRow:
    line = queries.overview.day_line(status) if status.profile.has_gas else None
    hourly = queries.overview.hourly().get(status.profile.network_id)
    usual = queries.overview.usual(status)
    return NetworkRow(status, usual, now, line, hourly, severity=severity)


def _is_of(kind: str, status: NetworkStatus, hourly: Mapping[NetworkId, HourlyRejections]) -> bool:
    match kind:
        case NetworksShown.FAILING:
            return bool(status.figures.failures)
        case NetworksShown.STALE:
            return status.activity is Activity.STALE
        case NetworksShown.BUSY:
            return status.activity is Activity.BUSY
        case NetworksShown.REJECTING:
            found = hourly.get(status.profile.network_id)
            return found is not None and found.count > 0
        case _:
            return True


def _opened(queries: Application, status: NetworkStatus, now: datetime) -> None:
    profile = status.profile
    with st.container(key=f"opened-{profile.network_id}", gap="small"):
        _verdict(queries, status, now)
        _chart_card(queries, status, now)


def _verdict(queries: Application, status: NetworkStatus, now: datetime) -> None:
    incidents = queries.incidents.count_open(status.profile.network_id)
    verdict(status, queries.overview.usual(status), incidents, now)


def _chart_card(queries: Application, status: NetworkStatus, now: datetime) -> None:
    """Chart the fee that decides busyness, and lead to what else is known."""
    profile = status.profile
    view = _fee_chart(queries, status, now) if profile.has_gas else None
    with in_line(f"links-{profile.network_id}"):
        here = {NETWORK: profile.name}
        link("fees", "Fees: longer times, cheap hours", here)
        link("health", "Health: sources, and what fails", here)
        if view is not None:
            fee_file(view, profile.network_id, f"fees-{profile.network_id}")


def _fee_chart(queries: Application, status: NetworkStatus, now: datetime) -> FeeView | None:
    """Chart the fee that decides busyness, as the page Fees does; return what is shown."""
    profile = status.profile
    with in_line("chart-head"):
        title, back = st.empty(), st.container(key="chart-back")
        names = list(SHORT_TIME_RANGES)
        name = choice_filter("Time range of the chart", names, RANGE, _USUAL)
    time_range = SHORT_TIME_RANGES[name]
    zoom = chosen_zoom(name, now)
    with back:
        unzoom_button(zoom, name)
    shown = f"last {name}" if zoom is None else zoom.name
    view = queries.fees.view(status, time_range, zoom)
    if view is None:
        no_base_fee(None if zoom else shown)
        return None
    title.html(element("h3", f"{view.name}, {shown}", class_="lw-subhead"))
    key = f"base-fee-{profile.network_id}"
    chart(drawing_of(view), key, CHART_HEIGHT, key, dragging(zoom, now))
    caveats = caveats_in_words(view.timeline)
    if caveats:
        quiet(caveats)
    return view


def _rejections(queries: Application, chosen: Sequence[NetworkProfile], now: datetime) -> None:
    section("Newest rejections", coverage(chosen))
    newest = queries.overview.newest(NEWEST, chosen[0].network_id if len(chosen) == 1 else None)
    if not newest and queries.line_limits.have_ended(chosen):
        empty("No rejection is on record", "None is expected: line limits have ended.")
    elif not newest and any(each.has_exclusion for each in chosen):
        empty(
            "No rejection seen yet",
            "Track a transaction on the page Tracked; its rejection appears here.",
        )
    tracked = queries.tracked_among(*(each.latest.record.tx_hash for each in newest))
    for each in newest:
        is_tracked = each.latest.record.tx_hash in tracked
        shown = _drawn_line(queries, each, now, is_tracked=is_tracked, is_named=len(chosen) > 1)
        rejection_row(each.latest, shown)
    if newest:
        with st.container(key="links-rejections"):
            period = {PERIOD: USUAL_PERIOD}
            link("rejections", "All rejections, with filters and counts", period)


def _drawn_line(
    queries: Application, found: RejectedAgain, now: datetime, *, is_tracked: bool, is_named: bool
) -> Markup:
    """Return what a line shows, likewise; `is_named`: with its network."""
    stored = found.latest

    def draw() -> Markup:
        name = queries.network_name(stored.network_id) if is_named else ""
        reason = queries.context.reason_of(stored)
        many = unbroken(f"{found.versions:,} times")
        times = element("span", f"\N{NO-BREAK SPACE}· {many}") if found.versions > 1 else Markup()
        space = "\N{NO-BREAK SPACE}" if times else " "
        mark = element("span", f"{space}◉", role="img", aria_label="Tracked", title="Tracked")
        also = join(times, mark) if is_tracked else times
        return rejection_markup(stored, reason, name, now, also=also)

    key = ("rejection", stored.rejection_id, found.versions, is_tracked, is_named, now)
    return _drawn(queries).get(key, draw)
