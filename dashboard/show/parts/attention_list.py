"""What needs attention, one line each, with the link that helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard.application.attention import Attention, Remedy
from dashboard.domain.markup import Markup, element, join
from dashboard.show.parts.badges import badge, severity_sign
from dashboard.show.parts.frame import NETWORK
from dashboard.show.parts.incident_list import INCIDENT

MOST: Final = 4
"""Lines that are shown; the others are counted."""


_ADDRESSES: Final = {
    Remedy.DEAD: {"section": "Deliveries", "state": "Dead"},
    Remedy.PENDING: {"section": "Deliveries", "state": "Pending"},
    Remedy.HELD: {"section": "Deliveries", "state": "Held"},
    Remedy.RECIPIENTS: {"section": "Recipients"},
}


def attention_list(
    needed: Sequence[Attention],
    alerts: st.Page,
    health: st.Page | None = None,
    *,
    most: int = MOST,
    with_advice: bool = False,
) -> None:
    """Show the most urgent, and the others folded.

    `alerts` and `health` are the pages that help, None where that is this page.
    """

    def line(place: int, each: Attention) -> None:
        page = alerts if each.remedy.is_on_alerts else health
        _line(place, each, page, with_advice=with_advice)

    if not needed:
        calm = badge("calm", "✓", "Nothing needs attention now")
        st.html(element("p", calm, class_="lw-calm-line"))
        return
    for place, each in enumerate(needed[:most]):
        line(place, each)
    if len(needed) > most:
        with st.expander(f"{len(needed) - most:,} more", key="attention-more"):
            for place, each in enumerate(needed[most:], start=most):
                line(place, each)


def _line(place: int, needed: Attention, page: st.Page | None, *, with_advice: bool) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"attention-{place}"
    ):
        advice = _with_code(needed.advice) if with_advice or not needed.text else Markup()
        sign, headline = severity_sign(needed.severity), element("strong", needed.headline)
        st.html(element("p", sign, " ", headline, " ", needed.text, " ", advice))
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
