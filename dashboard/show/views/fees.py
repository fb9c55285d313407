"""Fees answers: how busy is it, compared with usual, and when would it be cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.fee_listing import fee_csv
from dashboard.application.fees import FeeView
from dashboard.application.network_status import NetworkProfile, NetworkStatus
from dashboard.application.overview import network_summary
from dashboard.application.text import moment
from dashboard.application.time_ranges import TimeRange, Zoom
from dashboard.domain.markup import element
from dashboard.show.charts import side_by_side
from dashboard.show.charts.fee_chart import HEIGHT, drawing_of, fee_table
from dashboard.show.parts.chart import chart, chosen_lines, chosen_zoom, dragging, unzoom_button
from dashboard.show.parts.fee_summary import (
    cheap_hours,
    chosen_zone,
    costs,
    suggestions,
    timeline_in_words,
)
from dashboard.show.parts.frame import (
    chosen_networks,
    follow_choice,
    heading,
    in_line,
    live,
    section,
)
from dashboard.show.parts.list_page import RANGE, choice_filter, file_button
from dashboard.show.parts.network_card import network_figures, network_head
from dashboard.show.parts.network_rows import NetworkRow, comparison_head, comparison_row
from dashboard.show.parts.notices import empty, no_network, store_errors_shown
from dashboard.show.parts.table import data_table

REFRESH: Final = timedelta(seconds=4)
CHART: Final = "Chart"
TABLE: Final = "Table"
_DEFAULT: Final = "1 h"


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    _live()


@live(REFRESH)
def _live() -> None:
    follow_choice()
    queries = application.current()
    now = queries.now()
    with store_errors_shown("Fees"):
        chosen = chosen_networks(queries.networks)
        statuses = [each for each in queries.network_statuses() if each.profile in chosen]
        heading("Fees", f"{network_summary(statuses, now)} As of {moment(now)}.")
        if not statuses:
            no_network()
            return
        with st.container(horizontal=True, gap="small", key="fee-controls"):
            time_range = _chosen_time_range(queries.fees.time_ranges(chosen))
            is_table = _chosen_form() == TABLE
        if len(statuses) == 1:
            _one(queries, statuses[0], time_range, now, is_table=is_table)
        else:
            _many(queries, statuses, time_range, now, is_table=is_table)


def _chosen_time_range(offered: tuple[TimeRange, ...]) -> TimeRange:
    by_name = {each.name: each for each in offered}
    usual = _DEFAULT if _DEFAULT in by_name else offered[-1].name
    name = choice_filter(
        "Time range",
        list(by_name),
        RANGE,
        usual,
        wraps=True,
    )
    return by_name[name]


def _chosen_form() -> str:
    return choice_filter("Chart or table", [CHART, TABLE], "as", CHART)


def _one(
    queries: Application,
    status: NetworkStatus,
    time_range: TimeRange,
    now: datetime,
    *,
    is_table: bool,
) -> None:
    """Show one network: its chart, when it is cheaper, what it costs."""
    network_id = status.profile.network_id
    with st.container(key=f"card-network-{network_id}", gap="small"):
        network_head(status, now)
        if status.profile.has_gas:
            _fees(queries, status, time_range, now, is_table=is_table)
            network_figures(status, now)
    if not status.profile.has_gas:
        return
    with st.container(key=f"card-hours-{network_id}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key="hours-head"):
            section("When is it cheaper?")
            zone = chosen_zone()
        week, usual = queries.fees.usual_week(status, zone[0]), queries.overview.usual(status)
        cheap_hours(status, week, usual, now, zone, is_table=is_table)
    suggested = status.figures.suggested
    if suggested is not None:
        with st.container(key=f"card-costs-{network_id}", gap="small"):
            suggestions(suggested, now)
            costs(suggested.value, status.profile)


def _fees(
    queries: Application,
    status: NetworkStatus,
    time_range: TimeRange,
    now: datetime,
    *,
    is_table: bool,
) -> None:
    profile, zoom = status.profile, chosen_zoom(time_range.name, now)
    view = queries.fees.view(status, time_range, zoom)
    shown = f"last {time_range.name}" if zoom is None else zoom.name
    with in_line("chart-head"):
        name = status.figures.signal.capitalize()
        st.html(element("h3", f"{name}, {shown}", class_="lw-subhead"))
        unzoom_button(zoom, time_range.name)
    if view is None:
        empty(
            f"No base fee seen in the {shown}" if zoom is None else "No base fee seen then",
            "Choose a longer time, or look at Health: it says which source does not answer.",
        )
        return
    if is_table:
        data_table(fee_table(view.timeline), HEIGHT)
    else:
        _chart(view, profile, zoom, now)
    with in_line(f"beside-{profile.network_id}"):
        st.html(timeline_in_words(view.timeline, view.name, view.step, is_table=is_table))
        _download(view, profile, time_range.name if zoom is None else f"{zoom.since:%Y%m%dT%H%M%S}")


def _download(view: FeeView, profile: NetworkProfile, shown: str) -> None:
    file_button(
        lambda: fee_csv(view.timeline, profile.network_id),
        f"{_file_name(view, profile, shown)}.csv",
        f"csv-{profile.network_id}",
        note="The figures of this chart, in whole wei.",
    )


def _file_name(view: FeeView, profile: NetworkProfile, shown: str) -> str:
    return f"{view.signal} {profile.network_id} {shown}".replace(" ", "-")


def _chart(view: FeeView, profile: NetworkProfile, zoom: Zoom | None, now: datetime) -> None:
    file_name = _file_name(view, profile, "chart")
    key = f"fees-{profile.network_id}"
    chart(drawing_of(view), key, HEIGHT, file_name, dragging(zoom, now))


def _many(
    queries: Application,
    statuses: Sequence[NetworkStatus],
    time_range: TimeRange,
    now: datetime,
    *,
    is_table: bool,
) -> None:
    """Show several networks side by side: their fees on one axis, and when each is cheap."""
    asked = [each for each in statuses if each.profile.has_gas]
    zoom = chosen_zoom(time_range.name, now)
    shown = f"last {time_range.name}" if zoom is None else zoom.name
    with st.container(key="card-side-by-side", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key="beside-title"):
            section(
                f"Networks side by side, {shown}",
                "The fee that decides busyness, on one logarithmic axis.",
            )
            unzoom_button(zoom, time_range.name)
        drawn = chosen_lines(asked)
        places = [asked.index(each) for each in drawn]
        found = queries.fees.lines(drawn, places, zoom or time_range)
        if not found.lines:
            empty(f"No fee seen in the {shown}", "Choose a longer time.")
        elif is_table:
            data_table(side_by_side.lines_table(found.lines), HEIGHT)
        else:
            height = side_by_side.HEIGHT
            drawing = side_by_side.drawing_of(found)
            chart(drawing, "side-by-side", height, "networks", dragging(zoom, now))
        file_button(
            lambda: side_by_side.lines_csv(found.lines),
            f"networks-{time_range.name}.csv".replace(" ", "-"),
            "csv-networks",
            note="The figures of this chart, in whole wei.",
        )
    _compared(queries, statuses, now)


def _compared(queries: Application, statuses: Sequence[NetworkStatus], now: datetime) -> None:
    """Say of each network what it costs now, and when it is cheap."""
    with st.container(key="card-hours", gap=None):
        with st.container(horizontal=True, vertical_alignment="center", key="hours-head"):
            section("When is which cheap?")
            zone = chosen_zone()
        comparison_head()
        for each in statuses:
            week, usual = queries.fees.usual_week(each, zone[0]), queries.overview.usual(each)
            comparison_row(NetworkRow(each, usual, now, week=week))
