"""What a person can do about an open incident: acknowledge, silence, hand over, resolve."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import uuid5

import streamlit as st

from dashboard.domain.audit import LONGEST_NAME, Actor
from dashboard.domain.incident import Incident
from dashboard.domain.incident_response import LONGEST_NOTE, IncidentResponse
from dashboard.domain.silence import Silence, SilenceKind, SilenceRequest
from dashboard.show.parts.acting import Done, act, is_named, take_name
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.silences import matchers_of
from dashboard.show.text import moment_near

_LENGTHS: Final = {
    "1 h": timedelta(hours=1),
    "8 h": timedelta(hours=8),
    "24 h": timedelta(hours=24),
}
_FAILED: Final = "Nothing was changed."


def incident_acts(queries: PageQueries, incident: Incident) -> None:
    """Offer what can be done, side by side: one press acknowledges, once the name is known."""
    key = str(incident.incident_id)
    if incident.owner:
        _unacknowledge(queries, incident)
    elif is_named():
        is_pressed = st.button("Acknowledge", key=f"acknowledge-{key}", type="primary")
        note = st.session_state.pop(f"named-{key}", None)
        if is_pressed or note is not None:
            _acknowledge(queries, incident, note or "")
    else:
        _with_name(queries, incident)
    for label, name, content in (
        ("Silence", "silencing", _silence_form),
        ("More", "more", _more),
    ):
        popover = st.popover(label, key=f"{name}-{key}", on_change="rerun")
        if popover.open:
            with popover:
                content(queries, incident)


def _with_name(queries: PageQueries, incident: Incident) -> None:
    """Ask for the name together with the first act."""
    key = str(incident.incident_id)
    popover = st.popover("Acknowledge", key=f"naming-{key}", type="primary", on_change="rerun")
    if not popover.open:
        return
    with popover, st.form(f"name-{key}", border=False):
        st.text_input("Your name", key=f"who-{key}", max_chars=LONGEST_NAME)
        st.text_input("Note (optional)", key=f"first-note-{key}", max_chars=LONGEST_NOTE)
        is_pressed = st.form_submit_button(
            "Acknowledge", type="primary", on_click=_take_name, args=(key,)
        )
    if is_pressed:
        _acknowledge(queries, incident, "")


def _take_name(key: str) -> None:
    """Remember the name before the page is drawn again, which then acts with it at once."""
    take_name(str(st.session_state.get(f"who-{key}") or ""))
    if is_named():
        st.session_state[f"named-{key}"] = st.session_state.get(f"first-note-{key}") or ""


def _acknowledge(queries: PageQueries, incident: Incident, note: str) -> None:
    ask, incident_id = queries.incidents, incident.incident_id
    act(
        lambda by: ask.acknowledge(incident_id, by, note),
        queries,
        _FAILED,
        _said(queries, "is acknowledged by {owner}", partial(ask.unacknowledge, incident_id)),
    )


def _unacknowledge(queries: PageQueries, incident: Incident) -> None:
    ask, incident_id = queries.incidents, incident.incident_id
    if st.button("Unacknowledge", key=f"unacknowledge-{incident_id}", help="Nobody owns it then"):
        act(
            lambda by: ask.unacknowledge(incident_id, by),
            queries,
            _FAILED,
            _said(
                queries,
                "is unassigned",
                lambda by: ask.hand_over(incident_id, incident.owner, by),
            ),
        )


def _silence_form(queries: PageQueries, incident: Incident) -> None:
    key = str(incident.incident_id)
    st.caption("Nobody is notified of it, or of more like it, for this long.")
    length = st.segmented_control(
        "For", list(_LENGTHS), default="1 h", required=True, key=f"for-{key}"
    )
    reason = st.text_input("Reason (optional)", key=f"reason-{key}", max_chars=LONGEST_NOTE) or ""
    if st.button("Silence it", key=f"silence-{key}", type="primary"):
        wanted = _LENGTHS[length]
        act(
            lambda by: _silence(queries, incident, wanted, reason, by),
            queries,
            _FAILED,
            lambda silence: _silenced(queries, incident, silence),
        )


def _silence(
    queries: PageQueries, incident: Incident, length: timedelta, reason: str, by: Actor
) -> Silence:
    wish = SilenceRequest(
        uuid5(incident.incident_id, f"{by.name} {by.at}"),
        SilenceKind.SILENCE,
        matchers_of(incident),
        by.at,
        by.at + length,
        reason or f"by {by.name} on the page Alerts",
    )
    return queries.silences.add(wish, by)[0]


def _silenced(queries: PageQueries, incident: Incident, silence: Silence) -> Done:
    until = moment_near(silence.over_at, queries.now())
    return Done(
        f"“{queries.incidents.title_of(incident)}” is silenced until {until}",
        partial(queries.silences.end, silence.wish.kind, silence.silence_id),
    )


def _more(queries: PageQueries, incident: Incident) -> None:
    """Offer what is needed less: a note, another person, and the end."""
    key, ask = str(incident.incident_id), queries.incidents
    incident_id, owner = incident.incident_id, incident.owner
    note = st.text_input("Note (optional)", key=f"note-{key}", max_chars=LONGEST_NOTE) or ""
    if not owner and st.button("Acknowledge with this note", key=f"acknowledge-note-{key}"):
        _acknowledge(queries, incident, note)
    to = st.text_input(
        "To whom", key=f"to-{key}", max_chars=LONGEST_NAME, help="A recipient is notified of it"
    )
    if st.button("Hand over", key=f"hand-over-{key}"):
        back = partial(_back_to, queries, incident) if owner else partial(_free, queries, incident)
        act(
            lambda by: ask.hand_over(incident_id, to or "", by, note),
            queries,
            _FAILED,
            _said(queries, "is handed over to {owner}", back),
        )
    if st.button(
        "Resolve", key=f"resolve-{key}", help="Permanently: what follows is a new incident"
    ):
        act(
            lambda by: ask.resolve(incident_id, by, note),
            queries,
            _FAILED,
            _said(queries, "is resolved", None),
        )


def _back_to(queries: PageQueries, incident: Incident, by: Actor) -> IncidentResponse:
    return queries.incidents.hand_over(incident.incident_id, incident.owner, by)


def _free(queries: PageQueries, incident: Incident, by: Actor) -> IncidentResponse:
    return queries.incidents.unacknowledge(incident.incident_id, by)


def _said(
    queries: PageQueries, what: str, undo: Callable[[Actor], object] | None
) -> Callable[[IncidentResponse], Done]:
    """Say of a response what became of the incident; `what` may name its {owner}."""

    def said(response: IncidentResponse) -> Done:
        title = queries.incidents.title_of(response.incident)
        so = f"“{title}” {what.replace('{owner}', response.incident.owner)}."
        notified = queries.incidents.owner_notified(response)
        also = queries.incidents.with_it(response.others)
        return Done(" ".join(filter(None, (so, notified, also))).removesuffix("."), undo)

    return said
