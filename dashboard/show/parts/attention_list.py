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
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.markup import Markup, element, plain_label
from dashboard.show.parts.badges import badge, severity_sign, sign_label
from dashboard.show.parts.frame import NETWORK, OPEN, expander, in_line, link, quiet
from dashboard.show.parts.incident_list import INCIDENT, acknowledge_button, incident_acts
from dashboard.show.parts.notices import with_code
from dashboard.show.parts.notification_table import send_all_again
from dashboard.show.parts.subject_acts import Subject, silence_button

MOST: Final = 12
"""How many lines are shown on Overview."""

_ALL: Final = "attention-all"
_ADDRESSES: Final = {
    Remedy.DEAD: {"section": "Deliveries", "state": "Dead"},
    Remedy.PENDING: {"section": "Deliveries", "state": "Pending"},
    Remedy.HELD: {"section": "Deliveries", "state": "Held"},
    Remedy.RECIPIENTS: {"section": "Recipients"},
}


def attention_line(queries: Application, needed: Sequence[Attention]) -> None:
    """Say in one line how much needs attention, and the worst of it; it opens the whole list.

    The list offers what can be done.
    """
    if not needed:
        calm = badge("calm", "✓", "Nothing needs attention now")
        st.html(element("p", calm, class_="lw-calm-line"))
        return
    worst, others = needed[0], needed[MOST:]
    if len(needed) == 1:
        attention_list(queries, needed)
        return
    said = plain_label(worst.title, _LONGEST_LABEL)
    label = f"**{len(needed):,} need attention** · {sign_label(worst.severity)} {said}"
    with expander(label, _ALL):
        if st.session_state[_ALL]:
            attention_list(queries, needed[:MOST])
            if others:
                link("alerts", f"{len(others):,} more on Alerts")


def attention_list(
    queries: Application, needed: Sequence[Attention], here: str = "", *, with_acts: bool = True
) -> None:
    """Show each in a line with a link to the page that helps, unless that is `here`.

    Each line has buttons for what can be done at once, or advice instead.
    """
    for place, each in enumerate(needed):
        with in_line(f"attention-{place}"):
            advice = Markup() if with_acts and each.text else with_code(each.advice)
            sign, headline = severity_sign(each.severity), element("strong", each.headline)
            st.html(element("p", sign, " ", headline, " ", each.text, " ", advice))
            if with_acts:
                _acts(queries, each)
            _link(each, here)


def _acts(queries: Application, needed: Attention) -> None:
    """Offer what can be done at once about incidents, or about dead notifications."""
    if len(needed.incidents) > 1:
        key = f"all-{'' if needed.network is None else needed.network.network_id}"
        many = f"Acknowledge all {len(needed.incidents):,}"
        acknowledge_button(queries, key, needed.incidents, many)
        silence_button(queries, key, *_subjects_of(needed))
    elif needed.incident_id is not None:
        incident = queries.incidents.find(needed.incident_id)
        if incident is not None and incident.is_open:
            incident_acts(queries, incident, is_short=True)
    elif needed.remedy is Remedy.DEAD:
        send_all_again(queries)


def _subjects_of(needed: Attention) -> list[Subject]:
    """Return what can be silenced of several incidents: all that a rule reports of the network."""
    where, here = "", list[Matcher]()
    if needed.network is not None:
        where = f" on {needed.network.name}"
        here = [Matcher(MatchedProperty.NETWORK, str(needed.network.network_id))]
    by = len(needed.rules) > 1
    return [
        Subject(
            f"all rejections{where}{f' by the rule {rule}' if by else ''}",
            (Matcher(MatchedProperty.RULE, rule), *here),
        )
        for rule in needed.rules
    ]


def _link(needed: Attention, here: str) -> None:
    page = "alerts" if needed.remedy.is_on_alerts else "health"
    if page == here:
        return
    address = dict(_ADDRESSES.get(needed.remedy, {}))
    address |= {} if needed.network is None else {NETWORK: needed.network.name}
    if needed.incident_id is not None:
        address[INCIDENT] = str(needed.incident_id)
    link(page, OPEN, address)


SEEN: Final = "seen"
"""The parameter of the address with the last visit, in seconds since 1970."""

_LONGEST_LABEL: Final = 140
_LONGEST: Final = timedelta(days=7)
_SECONDS: Final = re.compile(r"\d{1,11}", re.ASCII)
_LAST_LOOK: Final = "last_look"


def last_look(queries: Application, now: datetime) -> None:
    """Count what is new since the last visit, with a button that marks it as seen."""
    since = _since(now)
    changes = queries.overview.changes_since(since)
    if not changes.is_any:
        return
    with in_line("last-look"):
        said = f"Since {moment_near(since, now)}, when you last looked: {changes.in_words()}."
        quiet(said)
        st.button("Seen", key="seen-now", on_click=_keep, args=(now,), type="tertiary")


def _since(now: datetime) -> datetime:
    """Return the last visit according to the session or the address, else now."""
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
