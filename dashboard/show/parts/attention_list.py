"""What needs attention, with the link that helps, and what changed since the last visit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.attention import Attention, Remedy
from dashboard.application.text import moment_near
from dashboard.domain.markup import Markup, element, join
from dashboard.show.parts.badges import badge, severity_sign
from dashboard.show.parts.frame import NETWORK, in_line, link
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
    *,
    here: str = "",
    most: int = MOST,
    with_advice: bool = False,
) -> None:
    """Show the most urgent, and fold the others; each links the page that helps, if not `here`."""

    def line(place: int, each: Attention) -> None:
        page = "alerts" if each.remedy.is_on_alerts else "health"
        _line(place, each, None if page == here else page, with_advice=with_advice)

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


def _line(place: int, needed: Attention, page: str | None, *, with_advice: bool) -> None:
    with in_line(f"attention-{place}"):
        advice = _with_code(needed.advice) if with_advice or not needed.text else Markup()
        sign, headline = severity_sign(needed.severity), element("strong", needed.headline)
        st.html(element("p", sign, " ", headline, " ", needed.text, " ", advice))
        if page is None:
            return
        address = dict(_ADDRESSES.get(needed.remedy, {}))
        address |= {} if needed.network is None else {NETWORK: needed.network.name}
        if needed.incident_id is not None:
            address[INCIDENT] = str(needed.incident_id)
        link(page, needed.remedy, address)


def _with_code(advice: str) -> Markup:
    """Set commands apart, which our own advice has between backticks."""
    parts = advice.split("`")
    return join(*(element("code", each) if n % 2 else each for n, each in enumerate(parts)))


SEEN: Final = "seen"
"""The parameter of the address that says when one last looked, in seconds since 1970."""

_LONGEST: Final = timedelta(days=7)
_SECONDS: Final = re.compile(r"\d{1,11}", re.ASCII)
_LAST_LOOK: Final = "last_look"


def last_look(queries: Application, now: datetime) -> None:
    """Count what is new since then, with a button that says it was seen."""
    since = _since(now)
    changes = queries.overview.changes_since(since)
    if not changes.is_any:
        return
    with in_line("last-look"):
        said = f"Since {moment_near(since, now)}, when you last looked: {changes.in_words()}."
        st.html(element("p", said, class_="lw-quiet"))
        st.button("Seen", key="seen-now", on_click=_keep, args=(now,), type="tertiary")


def _since(now: datetime) -> datetime:
    """Return when one last looked: as the session or the address says, else now."""
    kept = st.session_state.get(_LAST_LOOK)
    if not isinstance(kept, datetime):
        written = st.query_params.get(SEEN, "")
        is_number = _SECONDS.fullmatch(written)
        kept = datetime.fromtimestamp(int(written), UTC) if is_number else now
        st.session_state[_LAST_LOOK] = kept = min(kept, now)
    return max(kept, now - _LONGEST)


def _keep(now: datetime) -> None:
    st.session_state[_LAST_LOOK] = now
    st.query_params[SEEN] = str(int(now.timestamp()))
