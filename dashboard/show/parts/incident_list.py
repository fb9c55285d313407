"""Incidents on a page: what is open, who has it in hand, the story so far, and how to respond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid5

import streamlit as st

from dashboard.domain.audit import LONGEST_NAME, Actor
from dashboard.domain.foreign_text import visible
from dashboard.domain.incident import Incident
from dashboard.domain.incident_response import LONGEST_NOTE
from dashboard.domain.notification import NotificationState
from dashboard.domain.silence import SilenceKind, SilenceRequest
from dashboard.show.parts.acting import act
from dashboard.show.parts.badges import incident_badge
from dashboard.show.parts.heading import section
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.table import table
from dashboard.show.queries.incident_words import event_words, notified_words, state_remark
from dashboard.show.queries.incidents import matchers_of
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment, moment_near
from dashboard.store.alerts.incident_list import IncidentStory

_SILENCE: Final = {
    "1 h": timedelta(hours=1),
    "8 h": timedelta(hours=8),
    "24 h": timedelta(hours=24),
}
_LONGEST_TITLE: Final = 300


def incidents_part(
    queries: PageQueries, opened: Sequence[IncidentStory], finished: Sequence[IncidentStory]
) -> None:
    """Show the open incidents, each with its story, and below them the latest that are over."""
    with st.container(key="card-incidents", gap="small"):
        section(
            "Incidents",
            "What a rule holds true of a group: one message when it opens, what follows gathered.",
        )
        for each in opened:
            _row(queries, each)
        if not opened:
            st.html(element("p", "No incident is open.", class_="lw-quiet"))
        if finished:
            st.html(_finished(queries, finished))


def _row(queries: PageQueries, story: IncidentStory) -> None:
    incident = story.incident
    with st.container(
        key=f"incident-{incident.incident_id}",
        horizontal=True,
        vertical_alignment="top",
        gap="small",
    ):
        with st.container(gap=None):
            st.html(incident_markup(queries, story))
        with st.popover("Respond", key=f"respond-{incident.incident_id}"):
            _respond(queries, incident)


def incident_markup(queries: PageQueries, story: IncidentStory) -> Markup:
    """Build what is said of one: state, title, since when, who has it, and its story in a fold."""
    incident, now = story.incident, queries.now()
    title = visible(queries.incidents.title_of(incident), _LONGEST_TITLE)
    head = element(
        "div",
        incident_badge(story.state, incident.severity),
        element("b", title),
        element("span", _changes(incident)),
        element("span", _times(incident, now), class_="lw-end"),
        class_="lw-row lw-remarks",
    )
    remarks = join(*(element("p", each, class_="lw-quiet") for each in _remarks(story, now)))
    return join(head, remarks, _story(story))


def _remarks(story: IncidentStory, now: datetime) -> Iterator[str]:
    """Say who has it in hand, and which silence keeps it from everybody."""
    if remark := state_remark(story.incident):
        yield remark
    if story.incident.owner:
        yield f"{visible(story.incident.owner, LONGEST_NAME)} has it in hand."
    if story.silence is not None:
        until = moment_near(story.silence.over_at, now)
        yield f"Nobody is notified until {until}: silence {story.silence.silence_id}."


def _changes(incident: Incident) -> str:
    many = "1 change" if incident.transitions == 1 else f"{incident.transitions:,} changes"
    return f"{many}, {incident.severity}"


def _times(incident: Incident, now: datetime) -> str:
    since = f"since {moment_near(incident.opened_at, now)}"
    if incident.resolved_at is None:
        return since
    return f"{moment(incident.opened_at)} to {moment(incident.resolved_at)}"


def _story(story: IncidentStory) -> Markup:
    rows = [(f"{each.at:%d %b %H:%M:%S}", event_words(each)) for each in story.events]
    told = table(("At (UTC)", "What happened"), rows, "Story")
    people = join(*(element("p", each, class_="lw-quiet") for each in notified_words(story)))
    name = element("p", f"Incident {story.incident.incident_id}", class_="lw-quiet")
    summary = element("summary", _reach(story))
    return element("details", summary, told, people, name, class_="lw-more")


def _reach(story: IncidentStory) -> str:
    """Say in short how many were notified, as the title of the fold."""
    sent = sum(NotificationState.SENT in each.states for each in story.notified)
    people = "1 recipient" if len(story.notified) == 1 else f"{len(story.notified)} recipients"
    reached = f"{sent} of {people} notified" if story.notified else "nobody was notified"
    return f"Story: {reached}{', some changes withheld' if story.withheld else ''}"


def _respond(queries: PageQueries, incident: Incident) -> None:
    """Offer what a person can do about an open incident."""
    key = str(incident.incident_id)
    ask, incident_id = queries.incidents, incident.incident_id
    note = st.text_input("Note (optional)", key=f"note-{key}", max_chars=LONGEST_NOTE) or ""
    failed = "Nothing was changed."
    if incident.owner:
        if st.button("Give it back", key=f"unacknowledge-{key}"):
            act(lambda by: ask.unacknowledge(incident_id, by, note), queries, failed)
    elif st.button("Acknowledge", key=f"acknowledge-{key}", type="primary"):
        act(lambda by: ask.acknowledge(incident_id, by, note), queries, failed)
    to = st.text_input("Hand over to", key=f"to-{key}", max_chars=LONGEST_NAME) or ""
    if st.button("Hand over", key=f"hand-over-{key}"):
        act(lambda by: ask.hand_over(incident_id, to, by, note), queries, failed)
    length = st.segmented_control(
        "Silence it for", list(_SILENCE), default="1 h", required=True, key=f"for-{key}"
    )
    if st.button("Silence", key=f"silence-{key}"):
        wanted = _SILENCE[length]
        act(lambda by: _silence(queries, incident, wanted, note, by), queries, failed)
    if st.button("Declare it over", key=f"resolve-{key}"):
        act(lambda by: ask.resolve(incident_id, by, note), queries, failed)


def _silence(
    queries: PageQueries, incident: Incident, length: timedelta, note: str, by: Actor
) -> None:
    reason = note or f"by {by.name} on the page Alerts"
    wish = SilenceRequest(
        uuid5(incident.incident_id, f"{by.name} {by.at}"),
        SilenceKind.SILENCE,
        matchers_of(incident),
        by.at,
        by.at + length,
        reason,
    )
    queries.silences.add(wish, by)


def _finished(queries: PageQueries, stories: Sequence[IncidentStory]) -> Markup:
    rows = (element("div", incident_markup(queries, each)) for each in stories)
    return element("details", element("summary", "Over"), *rows, class_="lw-more")
