"""What needs a person, one line each, with the link that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from dashboard.show.parts.badges import badge
from dashboard.show.parts.incident_list import INCIDENT
from dashboard.show.parts.markup import element
from dashboard.show.parts.network_chooser import NETWORK
from dashboard.show.queries.attention import Attention, Remedy

MOST: Final = 4
"""Lines that are shown; the others are counted."""


def attention_list(needed: Sequence[Attention], pages: Mapping[Remedy, st.Page]) -> None:
    """Show the most urgent; `pages` are where each remedy is found."""
    if not needed:
        calm = badge("calm", "✓", "Nothing needs you now")
        st.html(element("p", calm, class_="lw-calm-line"))
        return
    for place, each in enumerate(needed[:MOST]):
        _line(place, each, pages[each.remedy])
    if len(needed) > MOST:
        st.html(element("p", f"and {len(needed) - MOST:,} more", class_="lw-quiet"))


def _line(place: int, needed: Attention, page: st.Page) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"attention-{place}"
    ):
        sign = element("span", "!", class_="lw-sign", aria_hidden="true")
        st.html(element("p", sign, " ", element("strong", needed.headline), " ", needed.text))
        address = {} if needed.network is None else {NETWORK: needed.network.name}
        if needed.incident_id is not None:
            address[INCIDENT] = str(needed.incident_id)
        st.page_link(page, label=needed.remedy, icon="", query_params=address)
