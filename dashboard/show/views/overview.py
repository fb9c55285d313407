"""Overview answers: is anything wrong now, on which network, since when, is the data fresh."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.show import desk as desks
from dashboard.show.charts import CONFIG
from dashboard.show.desk import Desk
from dashboard.show.networks import Activity, NetworkCard, NetworkStatus
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.markup import element
from dashboard.show.parts.network import network_strip
from dashboard.show.parts.rejection import RowFlags, rejection_row
from dashboard.show.parts.states import empty, store_trouble_shown
from dashboard.show.text import moment
from dashboard.show.views import lookup

REFRESH: Final = timedelta(seconds=4)
NEWEST: Final = 12
SPANS: Final = {
    "15 min": timedelta(minutes=15),
    "1 h": timedelta(hours=1),
    "6 h": timedelta(hours=6),
    "24 h": timedelta(hours=24),
}


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
    desk = desks.current()
    now = desk.now()
    with store_trouble_shown():
        statuses = desk.network_statuses()
        heading("Overview", _answer(statuses, now))
        networks, rejections = st.columns([8, 5], gap="medium")
        with networks:
            _networks(desk, statuses, now)
        with rejections, st.container(key="card-rejections", gap="small"):
            _rejections(desk, now)


def _answer(statuses: Sequence[NetworkStatus], now: datetime) -> str:
    return f"{answer(statuses)} As of {moment(now)}."


def answer(statuses: Sequence[NetworkStatus]) -> str:
    """Say which networks need a look, the worst first, or that none does."""
    if not statuses:
        return "No network is configured."
    needing = {
        "No answer from": [each for each in statuses if each.figures.failures],
        "Stale": _in(Activity.STALE, statuses),
        "Busy": _in(Activity.BUSY, statuses),
        "Not known yet": [each for each in _in(Activity.UNKNOWN, statuses) if each.card.has_gas],
    }
    said = [f"{words}: {_names(found)}." for words, found in needing.items() if found]
    if said:
        return " ".join(said)
    is_all_calm = all(status.activity is Activity.CALM for status in statuses)
    return "Every network is calm." if is_all_calm else "No network is busy or stale."


def _in(activity: Activity, statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    return [status for status in statuses if status.activity is activity]


def _names(statuses: Sequence[NetworkStatus]) -> str:
    return ", ".join(status.card.name for status in statuses)


def _networks(desk: Desk, statuses: Sequence[NetworkStatus], now: datetime) -> None:
    if not statuses:
        empty(
            "No network is configured",
            "Add one under [networks] in linewatch.toml, or start with no configuration at all "
            "to try the simulated devnet.",
        )
        return
    length = SPANS[_chosen_span()]
    for status in statuses:
        with st.container(key=f"card-network-{status.card.network_id}"):
            network_strip(status, now)
            if status.card.has_gas:
                _base_fee_chart(desk, status, length)


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


def _base_fee_chart(desk: Desk, status: NetworkStatus, length: timedelta) -> None:
    drawing = desk.base_fee_drawing(status, length)
    if drawing is None:
        empty(
            "No base fee seen in this time",
            "The line begins with the first answer of the gas source.",
        )
        return
    st.plotly_chart(
        drawing.figure,
        theme=None,
        config=CONFIG,
        key=f"base-fee-{status.card.network_id}",
        alt=drawing.words,
    )
    if drawing.caveat:
        st.html(element("p", drawing.caveat, class_="lw-quiet"))


def coverage(cards: Sequence[NetworkCard]) -> str:
    """Say which rejections can be seen at all."""
    if cards and all(card.sees_all_reports for card in cards if card.has_exclusion):
        return "Every rejection that nodes reported to this installation."
    return "Of tracked transactions, and of nodes that report to this installation."


def _rejections(desk: Desk, now: datetime) -> None:
    section("Newest rejections", coverage(desk.networks))
    newest = desk.newest_rejections(NEWEST)
    if not newest:
        empty(
            "No rejection seen yet",
            "Track a transaction on the Lookup page; its rejection appears here.",
        )
    tracked = desk.tracked_among([stored.record.tx_hash for stored in newest])
    for stored in newest:
        flags = RowFlags(desk.network_name(stored.network_id), stored.record.tx_hash in tracked)
        rejection_row(stored, flags, now, lookup.place())
