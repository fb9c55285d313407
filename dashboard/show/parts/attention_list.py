"""What needs a person, one line each, with the link that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from dashboard.show.parts.badges import badge
from dashboard.show.parts.incident_list import INCIDENT
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.network_chooser import NETWORK
from dashboard.show.queries.attention import Attention, Remedy

MOST: Final = 4
"""Lines that are shown; the others are counted."""


_ADDRESSES: Final = {
    Remedy.NOTIFICATIONS: {"section": "Deliveries", "state": "Dead"},
    Remedy.PENDING: {"section": "Deliveries", "state": "Pending"},
    Remedy.RECIPIENTS: {"section": "Recipients"},
}


def attention_list(
    needed: Sequence[Attention],
    pages: Mapping[Remedy, st.Page],
    *,
    most: int = MOST,
    with_advice: bool = False,
) -> None:
    """Show the most urgent, and the others folded.

    `pages` are where a remedy is found, if it is not on this page.
    """
    if not needed:
        calm = badge("calm", "✓", "Nothing needs you now")
        st.html(element("p", calm, class_="lw-calm-line"))
        return
    for place, each in enumerate(needed[:most]):
        _line(place, each, pages.get(each.remedy), with_advice=with_advice)
    if len(needed) > most:
        with st.expander(f"{len(needed) - most:,} more", key="attention-more"):
            for place, each in enumerate(needed[most:], start=most):
                _line(place, each, pages.get(each.remedy), with_advice=with_advice)


def _line(place: int, needed: Attention, page: st.Page | None, *, with_advice: bool) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"attention-{place}"
    ):
        sign = element("span", "!", class_="lw-sign", aria_hidden="true")
        advice = _with_code(needed.advice) if with_advice or not needed.text else Markup()
        said = join(needed.text, " ", advice)
        st.html(element("p", sign, " ", element("strong", needed.headline), " ", said))
        if page is None:
            return
        address = dict(_ADDRESSES.get(needed.remedy, {}))
        address |= {} if needed.network is None else {NETWORK: needed.network.name}
        if needed.incident_id is not None:
            address[INCIDENT] = str(needed.incident_id)
        st.page_link(page, label=needed.remedy, icon="", query_params=address)


def _with_code(advice: str) -> Markup:
    """Set commands apart, which our own advice has between backticks."""
    parts = advice.split("`")
    return join(*(element("code", each) if n % 2 else each for n, each in enumerate(parts)))
