"""Addresses to which nothing is sent, on a page: since when, why, and turning them on again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from dashboard.domain.address_off import AddressOff
from dashboard.domain.foreign_text import visible
from dashboard.show.parts.acting import act
from dashboard.show.parts.badges import badge
from dashboard.show.parts.heading import section
from dashboard.show.parts.markup import Markup, element
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment_near

_LONGEST: Final = 120


def recipients_off_part(queries: PageQueries, off: Sequence[AddressOff]) -> None:
    """Show who gets nothing, and offer to turn each on."""
    with st.container(key="card-off", gap="small"):
        section("Addresses that are off", "Nothing is sent to them, whatever happens.")
        for each in off:
            key = f"{each.recipient.channel} {each.recipient.address}"
            with st.container(horizontal=True, vertical_alignment="top", gap="small"):
                with st.container(gap=None):
                    st.html(_markup(each, queries))
                if st.button("Turn on", key=f"on-{key}"):
                    turn_on = partial(queries.recipients.turn_on, each.recipient)
                    act(turn_on, queries, "Nothing was changed.")


def _markup(each: AddressOff, queries: PageQueries) -> Markup:
    since = moment_near(each.since, queries.now())
    return element(
        "div",
        badge("bad", "✕", each.cause.capitalize()),
        element("b", visible(each.recipient.address, _LONGEST)),
        element("span", f"since {since}, by {visible(each.by, _LONGEST)}"),
        element("span", visible(each.note, _LONGEST)),
        class_="lw-row lw-remarks",
    )
