"""Fees answers: how busy is it, compared with usual, and when would it be cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.fees import FeeView
from dashboard.application.network_status import NetworkProfile, NetworkStatus
from dashboard.application.overview import network_summary
from dashboard.application.time_ranges import TimeRange
from dashboard.domain.markup import element
from dashboard.show.charts import side_by_side
from dashboard.show.charts.fee_chart import HEIGHT, drawing_of, fee_table
from dashboard.show.parts.chart import chart, chosen_lines, chosen_zoom, dragging, unzoom_button
from dashboard.show.parts.fee_summary import (
    cheap_hours,
    cheapest_figure,
    chosen_zone,
    costs,
    fee_file,
    timeline_in_words,
)
from dashboard.show.parts.frame import (
    card,
    chosen_networks,
    follow_choice,
    heading,
    in_line,
    live,
    quiet,
    section,
)
from dashboard.show.parts.list_page import RANGE, choice_filter, file_button
from dashboard.show.parts.network_card import network_figures, network_head
from dashboard.show.parts.network_rows import (
    NetworkRow,
    chosen_order,
    comparison_head,
    comparison_row,
    sorted_rows,
)
from dashboard.show.parts.notices import empty, no_base_fee, no_network, store_errors_shown
from dashboard.show.parts.table import data_table

REFRESH: Final = timedelta(seconds=4)
CHART: Final = "Chart"
TABLE: Final = "Table"
_DEFAULT: Final = "1 h"


@live(REFRESH)
def page() -> None:
    follow_choice()
    queries = application.current()
    with store_errors_shown("Fees"):
        chosen = chosen_networks(queries.networks)
        now, known = queries.statuses_as_of()
        statuses = [each for each in known if each.profile in chosen]
        heading("Fees", network_summary(statuses, now), now)
        if not statuses:
            no_network()
            return
        if len(statuses) == 1:
            _one(queries, statuses[0], now)
        else:
            _many(queries, statuses, now)


def _chosen_time_range(offered: tuple[TimeRange, ...]) -> TimeRange:
    by_name = {each.name: each for each in offered}
    usual = _DEFAULT if _DEFAULT in by_name else offered[-1].name
    return by_name[choice_filter("Time range", list(by_name), RANGE, usual, wraps=True)]


def _is_table() -> bool:
    return choice_filter("Chart or table", [CHART, TABLE], "as", CHART) == TABLE


def _one(queries: Application, status: NetworkStatus, now: datetime) -> None:
    """Show one network: its figures and chart, when it is cheaper, what it costs."""
    network_id = status.profile.network_id
    if not status.profile.has_gas:
        with st.container(key=f"card-network-{network_id}", gap="small"):
            network_head(status, now)
        return
    with _controls():
        time_range = _chosen_time_range(queries.fees.time_ranges((status.profile,)))
        is_table = _is_table()
        zone = chosen_zone()
    week, usual = queries.fees.usual_week(status, zone[0]), queries.overview.usual(status)
    with st.container(key=f"card-network-{network_id}", gap="small"):
        network_head(status, now)
        network_figures(status, usual, now, cheapest_figure(week, zone, now))
        _fees(queries, status, time_range, now, is_table=is_table)
    with card(f"hours-{network_id}", "When is it cheaper?"):
        cheap_hours(status, week, usual, now, zone, is_table=is_table)
    suggested = status.figures.suggested
    if suggested is not None:
        with card(f"costs-{network_id}", "Maximum cost"):
            costs(suggested, status.profile, now)


def _controls() -> DeltaGenerator:
    return st.container(horizontal=True, gap="small", key="fee-controls")


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
        no_base_fee(None if zoom else shown)
        return
    if is_table:
        data_table(fee_table(view.timeline), HEIGHT)
    else:
        name = _file_name(view, profile, "chart")
        drags = dragging(zoom, now)
        chart(drawing_of(view), f"fees-{profile.network_id}", HEIGHT, name, drags)
    with in_line(f"beside-{profile.network_id}"):
        words = timeline_in_words(
            view.timeline, view.name, view.step, marks=view.marks, is_table=is_table
        )
        st.html(words)
        range_name = time_range.name if zoom is None else f"{zoom.since:%Y%m%dT%H%M%S}"
        fee_file(view, profile.network_id, _file_name(view, profile, range_name))


def _file_name(view: FeeView, profile: NetworkProfile, shown: str) -> str:
    return f"{view.signal} {profile.network_id} {shown}".replace(" ", "-")


def _many(queries: Application, statuses: Sequence[NetworkStatus], now: datetime) -> None:
    """Compare several networks: a row for each, and below them the fees of a few in one chart."""
    with st.container(key="card-compared", gap=None):
        with st.container(horizontal=True, vertical_alignment="center", key="hours-head"):
            section(f"{len(statuses)} networks")
            zone = chosen_zone()
        rows = [
            NetworkRow(
                each,
                queries.overview.usual(each),
                now,
                week=queries.fees.usual_week(each, zone[0]),
            )
            for each in statuses
        ]
        comparison_head()
        ordered = sorted_rows(rows, chosen_order())
        for each in ordered:
            comparison_row(each)
    asked = [each for each in statuses if each.profile.has_gas]
    if asked:
        _side_by_side(
            queries, asked, [each.status for each in ordered if each.status.profile.has_gas], now
        )


def _side_by_side(
    queries: Application,
    asked: Sequence[NetworkStatus],
    first: Sequence[NetworkStatus],
    now: datetime,
) -> None:
    """Show the fees of chosen networks in one chart; at first the `first` few."""
    with st.container(key="card-side-by-side", gap="small"):
        title = st.container(horizontal=True, vertical_alignment="center", key="beside-title")
        with _controls():
            profiles = tuple(each.profile for each in asked)
            time_range = _chosen_time_range(queries.fees.time_ranges(profiles))
            is_table = _is_table()
        zoom = chosen_zoom(time_range.name, now)
        shown = f"last {time_range.name}" if zoom is None else zoom.name
        with title:
            section(f"Fees vs. usual, {shown}")
            unzoom_button(zoom, time_range.name)
        drawn = chosen_lines(asked, first)
        places = [asked.index(each) for each in drawn]
        found = queries.fees.lines(drawn, places, zoom or time_range)
        if not found.lines:
            said = f"No fee seen in the {shown}" if drawn else "No network is chosen"
            empty(said, "Choose a longer time." if drawn else "Choose some above.")
            return
        if is_table:
            data_table(side_by_side.lines_table(found.lines), side_by_side.HEIGHT)
        else:
            figure, drags = side_by_side.drawing_of(found), dragging(zoom, now)
            chart(figure, "side-by-side", side_by_side.HEIGHT, "networks", drags)
        with in_line("beside-lines"):
            said = side_by_side.lines_in_words(found, is_table=is_table)
            quiet(said)
            file_button(
                lambda: side_by_side.lines_csv(found.lines),
                f"networks-{time_range.name}.csv".replace(" ", "-"),
                "csv-networks",
                note="The figures of this chart, in whole wei.",
            )
