"""Overview answers: is anything wrong now, on which network, since when, is the data fresh."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.show.charts.figure import CONFIG
from dashboard.show.parts.fee_summary import caveats_in_words
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.markup import element
from dashboard.show.parts.network_chooser import NETWORK, chosen_networks
from dashboard.show.parts.network_strip import network_strip
from dashboard.show.parts.notices import empty, no_network, notice, store_trouble_shown
from dashboard.show.parts.rejection_table import RowFlags, coverage, rejection_row
from dashboard.show.queries import page_queries
from dashboard.show.queries.fees import NAMES
from dashboard.show.queries.health import FREE_SPACE
from dashboard.show.queries.network_status import NetworkCard, NetworkStatus, network_summary
from dashboard.show.queries.page_queries import Desk
from dashboard.show.text import moment, size
from dashboard.show.time_ranges import SPANS as FEE_SPANS
from dashboard.show.time_ranges import Span
from dashboard.show.views import fees, health, lookup, rejections

REFRESH: Final = timedelta(seconds=4)
NEWEST: Final = 12
_HEIGHT: Final = 210
SPANS: Final = {span.name: span for span in FEE_SPANS[:4]}
"""The shortest lengths; the page Fees has the others."""


def place() -> st.Page:
    """Return where this page lives.

    It has no icon: Streamlit would make the browser fetch that from a font host, as favicon.
    """
    return st.Page(page, title="Overview", default=True)


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    _live()


@st.fragment(run_every=REFRESH)
def _live() -> None:
    desk = page_queries.current()
    now = desk.now()
    with store_trouble_shown():
        chosen = chosen_networks(desk.networks)
        statuses = [each for each in desk.network_statuses() if each.card in chosen]
        heading("Overview", f"{network_summary(statuses)} As of {moment(now)}.")
        free = desk.health.low_space()
        if free is not None:
            notice("bad", f"The disk of the store has {size(free)} free.", FREE_SPACE)
        networks, rejections = st.columns([8, 5], gap="medium")
        with networks:
            _networks(desk, statuses, now)
        with rejections, st.container(key="card-rejections", gap="small"):
            _rejections(desk, chosen, now)


def _networks(desk: Desk, statuses: Sequence[NetworkStatus], now: datetime) -> None:
    if not statuses:
        no_network()
        return
    span = SPANS[_chosen_span()]
    for status in statuses:
        with st.container(key=f"card-network-{status.card.network_id}"):
            network_strip(status, now)
            if status.card.has_gas:
                _fee_chart(desk, status, span)
            _links(status.card)


def _links(card: NetworkCard) -> None:
    """Lead to what else is known of a network."""
    with st.container(horizontal=True, gap="small", key=f"links-{card.network_id}"):
        for place, label in (
            (fees.place(), "Suggested fees and longer times"),
            (health.place(), "Who is asked, and what fails"),
        ):
            st.page_link(place, label=label, icon="", query_params={NETWORK: card.name})


def _chosen_span() -> str:
    chosen = st.segmented_control(
        "Time span of the charts",
        list(SPANS),
        default="1 h",
        required=True,
        key="span",
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or "1 h"


def _fee_chart(desk: Desk, status: NetworkStatus, span: Span) -> None:
    """Chart the fee that tells busyness, as the page Fees does."""
    view = desk.fees.view(status, span)
    if view is None:
        empty(
            f"No base fee seen in the last {span.name}",
            "The line begins with the first answer of the gas source.",
        )
        return
    st.html(element("h3", f"{NAMES[view.kind]}, last {span.name}", class_="lw-subhead"))
    st.plotly_chart(
        view.drawing.figure,
        theme=None,
        height=_HEIGHT,
        config=CONFIG,
        key=f"base-fee-{status.card.network_id}",
        alt=view.drawing.words,
    )
    caveats = caveats_in_words(view.story)
    if caveats:
        st.html(element("p", caveats, class_="lw-quiet"))


def _rejections(desk: Desk, chosen: Sequence[NetworkCard], now: datetime) -> None:
    section("Newest rejections", coverage(chosen))
    is_all = len(chosen) == len(desk.networks)
    newest = desk.newest_rejections(NEWEST, None if is_all else chosen[0].network_id)
    if not newest:
        empty(
            "No rejection seen yet",
            "Track a transaction on the Lookup page; its rejection appears here.",
        )
    tracked = desk.tracked_among([stored.record.tx_hash for stored in newest])
    for stored in newest:
        network, reason = desk.source.network_name(stored.network_id), desk.source.reason_of(stored)
        flags = RowFlags(network, reason, is_tracked=stored.record.tx_hash in tracked)
        rejection_row(stored, flags, now, lookup.place())
    if newest:
        with st.container(key="links-rejections"):
            st.page_link(
                rejections.place(), label="All rejections, with filters and counts", icon=""
            )
