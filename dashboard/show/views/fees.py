"""Fees answers: how busy is it, compared with usual, and what does a transaction cost now."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.show.charts.fee_chart import HEIGHT
from dashboard.show.charts.fee_table import fee_csv, fee_table
from dashboard.show.charts.figure import CONFIG
from dashboard.show.parts.fee_summary import story_in_words, suggestions
from dashboard.show.parts.heading import heading
from dashboard.show.parts.list_page import choice_filter, csv_button
from dashboard.show.parts.markup import element
from dashboard.show.parts.network_chooser import chosen_networks
from dashboard.show.parts.network_strip import network_strip
from dashboard.show.parts.notices import empty, no_network, store_errors_shown
from dashboard.show.queries import page_queries
from dashboard.show.queries.fees import FeeView
from dashboard.show.queries.network_status import NetworkProfile, NetworkStatus, network_summary
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment
from dashboard.show.time_ranges import TimeRange

REFRESH: Final = timedelta(seconds=4)
CHART: Final = "Chart"
TABLE: Final = "Table"
_DEFAULT: Final = "1 h"


def as_page() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Fees", url_path="fees")


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    _live()


@st.fragment(run_every=REFRESH)
def _live() -> None:
    queries = page_queries.current()
    now = queries.now()
    with store_errors_shown():
        chosen = chosen_networks(queries.networks)
        statuses = [each for each in queries.network_statuses() if each.profile in chosen]
        heading("Fees", f"{network_summary(statuses)} As of {moment(now)}.")
        if not statuses:
            no_network()
            return
        with st.container(horizontal=True, gap="small", key="fee-controls"):
            time_range = _chosen_time_range(queries.fees.time_ranges(chosen))
            is_table = _chosen_form() == TABLE
        for status in statuses:
            with st.container(key=f"card-network-{status.profile.network_id}", gap="small"):
                network_strip(status, now)
                if status.profile.has_gas:
                    _fees(queries, status, time_range, now, is_table=is_table)


def _chosen_time_range(offered: tuple[TimeRange, ...]) -> TimeRange:
    by_name = {each.name: each for each in offered}
    usual = _DEFAULT if _DEFAULT in by_name else offered[-1].name
    name = choice_filter("Time range", list(by_name), "range", usual, is_labelled=False, wraps=True)
    return by_name[name]


def _chosen_form() -> str:
    return choice_filter("Chart or table", [CHART, TABLE], "as", CHART, is_labelled=False)


def _fees(
    queries: PageQueries,
    status: NetworkStatus,
    time_range: TimeRange,
    now: datetime,
    *,
    is_table: bool,
) -> None:
    profile = status.profile
    suggested = status.figures.suggested
    if suggested is not None:
        suggestions(suggested, now)
    view = queries.fees.view(status, time_range)
    if view is None:
        empty(
            f"No base fee seen in the last {time_range.name}",
            "Choose a longer time, or look at Health: it says who is asked and what fails.",
        )
        return
    st.html(element("h3", f"{view.name}, last {time_range.name}", class_="lw-subhead"))
    if is_table:
        _table(view)
    else:
        _chart(view, profile)
    with st.container(
        horizontal=True,
        vertical_alignment="center",
        gap="small",
        key=f"beside-{profile.network_id}",
    ):
        st.html(story_in_words(view.story, view.name, time_range))
        _download(view, profile, time_range)


def _download(view: FeeView, profile: NetworkProfile, time_range: TimeRange) -> None:
    subject = view.name.lower()
    csv_button(
        lambda: fee_csv(view.story, profile.network_id),
        f"{subject} {profile.network_id} {time_range.name}.csv".replace(" ", "-"),
        f"csv-{profile.network_id}",
        note="The figures of this chart, in whole wei.",
    )


def _chart(view: FeeView, profile: NetworkProfile) -> None:
    st.plotly_chart(
        view.drawing.figure,
        theme=None,
        height=HEIGHT,
        config=CONFIG,
        key=f"fees-{profile.network_id}",
        alt=view.drawing.words,
    )


def _table(view: FeeView) -> None:
    st.dataframe(
        fee_table(view.story),
        hide_index=True,
        height=HEIGHT,
        column_config={"Time (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss")},
    )
