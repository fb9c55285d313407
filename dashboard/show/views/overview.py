"""Overview answers: is anything wrong now, on which network, since when, is the data fresh."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.show.charts.figure import CONFIG
from dashboard.show.parts.fee_summary import caveats_in_words
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.list_page import choice_filter
from dashboard.show.parts.markup import element
from dashboard.show.parts.network_chooser import NETWORK, chosen_networks
from dashboard.show.parts.network_strip import network_strip
from dashboard.show.parts.notices import empty, no_network, notice, store_errors_shown
from dashboard.show.parts.rejection_table import RowContext, coverage, rejection_row
from dashboard.show.queries import page_queries
from dashboard.show.queries.fees import NAMES
from dashboard.show.queries.health import FREE_SPACE_ADVICE
from dashboard.show.queries.network_status import NetworkProfile, NetworkStatus, network_summary
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment, size
from dashboard.show.time_ranges import TIME_RANGES, TimeRange
from dashboard.show.views import fees, health, lookup, rejections

REFRESH: Final = timedelta(seconds=4)
NEWEST: Final = 12
_HEIGHT: Final = 210
_USUAL: Final = "1 h"
SHORT_TIME_RANGES: Final = {each.name: each for each in TIME_RANGES[:4]}
"""The shortest lengths; the page Fees has the others."""


def as_page() -> st.Page:
    """Return where this page lives.

    It has no icon: Streamlit would make the browser fetch that from a font host, as favicon.
    """
    return st.Page(page, title="Overview", default=True)


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
        heading("Overview", f"{network_summary(statuses)} As of {moment(now)}.")
        free = queries.health.low_space()
        if free is not None:
            notice("bad", f"The disk of the store has {size(free)} free.", FREE_SPACE_ADVICE)
        networks, rejections = st.columns([8, 5], gap="medium")
        with networks:
            _networks(queries, statuses, now)
        with rejections, st.container(key="card-rejections", gap="small"):
            _rejections(queries, chosen, now)


def _networks(queries: PageQueries, statuses: Sequence[NetworkStatus], now: datetime) -> None:
    if not statuses:
        no_network()
        return
    name = choice_filter(
        "Time range of the charts", list(SHORT_TIME_RANGES), "range", _USUAL, is_labelled=False
    )
    time_range = SHORT_TIME_RANGES[name]
    for status in statuses:
        with st.container(key=f"card-network-{status.profile.network_id}"):
            network_strip(status, now)
            if status.profile.has_gas:
                _fee_chart(queries, status, time_range)
            _links(status.profile)


def _links(profile: NetworkProfile) -> None:
    """Lead to what else is known of a network."""
    with st.container(horizontal=True, gap="small", key=f"links-{profile.network_id}"):
        for leads_to, label in (
            (fees.as_page(), "Suggested fees and longer times"),
            (health.as_page(), "Who is asked, and what fails"),
        ):
            st.page_link(leads_to, label=label, icon="", query_params={NETWORK: profile.name})


def _fee_chart(queries: PageQueries, status: NetworkStatus, time_range: TimeRange) -> None:
    """Chart the fee that decides busyness, as the page Fees does."""
    view = queries.fees.view(status, time_range)
    if view is None:
        empty(
            f"No base fee seen in the last {time_range.name}",
            "The line begins with the first answer of the gas source.",
        )
        return
    st.html(element("h3", f"{NAMES[view.kind]}, last {time_range.name}", class_="lw-subhead"))
    st.plotly_chart(
        view.drawing.figure,
        theme=None,
        height=_HEIGHT,
        config=CONFIG,
        key=f"base-fee-{status.profile.network_id}",
        alt=view.drawing.words,
    )
    caveats = caveats_in_words(view.story)
    if caveats:
        st.html(element("p", caveats, class_="lw-quiet"))


def _rejections(queries: PageQueries, chosen: Sequence[NetworkProfile], now: datetime) -> None:
    section("Newest rejections", coverage(chosen))
    is_all = len(chosen) == len(queries.networks)
    newest = queries.newest_rejections(NEWEST, None if is_all else chosen[0].network_id)
    if not newest:
        empty(
            "No rejection seen yet",
            "Track a transaction on the Lookup page; its rejection appears here.",
        )
    tracked = queries.tracked_among([stored.record.tx_hash for stored in newest])
    for stored in newest:
        network, reason = (
            queries.context.network_name(stored.network_id),
            queries.context.reason_of(stored),
        )
        flags = RowContext(network, reason, is_tracked=stored.record.tx_hash in tracked)
        rejection_row(stored, flags, now, lookup.as_page())
    if newest:
        with st.container(key="links-rejections"):
            st.page_link(
                rejections.as_page(), label="All rejections, with filters and counts", icon=""
            )
