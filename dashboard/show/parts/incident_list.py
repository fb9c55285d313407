"""Incidents in a list: what is open, who was notified, who owns it, and what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.domain.audit import LONGEST_NAME
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import counted
from dashboard.domain.incident import Incident, IncidentState
from dashboard.domain.incident_title import LONGEST_TITLE
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Severity
from dashboard.show.parts.badges import incident_badge, severity_badge
from dashboard.show.parts.heading import section
from dashboard.show.parts.incident_acts import incident_acts
from dashboard.show.parts.list_page import (
    ANY,
    choice_filter,
    chosen_page,
    filter_bar,
    select_filter,
)
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.notices import empty
from dashboard.show.queries.incident_words import (
    owner_words,
    reach_words,
    size_words,
    upcoming_words,
)
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment, moment_near, span
from dashboard.store.alerts.incident_list import FinishedFilter, IncidentStory
from dashboard.store.alerts.incidents import OpenCounts

INCIDENT: Final = "incident"
"""The parameter of the address that names an incident, by its id or how that begins."""

_ROWS: Final = 20
_OPEN_PAGE: Final = "open_page"
_OVER_PAGE: Final = "over_page"
_ENDED: Final = {
    "24 h": timedelta(hours=24),
    "7 d": timedelta(days=7),
    "30 d": timedelta(days=30),
}


def open_incidents_part(queries: PageQueries, network_id: NetworkId | None, here: st.Page) -> None:
    """Show the open incidents, the most urgent first, with what can be done."""
    with st.container(key="card-incidents", gap="small"):
        section("Open incidents", "The most urgent come first.")
        many = queries.incidents.open_counts(network_id).many
        if not many:
            empty(
                "No incident is open",
                "No rule reports anything now. What ended lately is below.",
            )
            return
        offset = (chosen_page(many, _ROWS, _OPEN_PAGE) - 1) * _ROWS
        for each in queries.incidents.open(network_id, _ROWS, offset):
            _row(queries, each, here)


def _row(queries: PageQueries, story: IncidentStory, here: st.Page) -> None:
    incident = story.incident
    with st.container(
        key=f"incident-{incident.severity}-{incident.incident_id}",
        horizontal=True,
        vertical_alignment="center",
        gap="small",
    ):
        st.html(incident_markup(queries, story))
        with st.container(
            key=f"acts-{incident.incident_id}",
            horizontal=True,
            vertical_alignment="center",
            gap="small",
            width="content",
        ):
            incident_acts(queries, incident)
            story_link(incident, here)


def story_link(incident: Incident, here: st.Page) -> None:
    """Link to the story of an incident."""
    st.page_link(here, label="Story", icon="", query_params={INCIDENT: str(incident.incident_id)})


def incident_markup(queries: PageQueries, story: IncidentStory) -> Markup:
    """Build one line on what it is and how urgent, and one on who was notified and who owns it."""
    incident, now = story.incident, queries.now()
    head = element(
        "div",
        severity_badge(incident.severity),
        element(
            "b", visible(queries.incidents.title_of(incident), LONGEST_TITLE), class_="lw-what"
        ),
        Markup()
        if story.state is IncidentState.FIRING
        else incident_badge(story.state, incident.severity),
        class_="lw-row",
    )
    facts = [element("span", each) for each in _facts(story, now)]
    return join(head, element("div", _owner(story), *facts, class_="lw-row lw-facts-line"))


def _owner(story: IncidentStory) -> Markup:
    """Say who acknowledged it; where nobody did, that stands out."""
    incident = story.incident
    if incident.owner:
        return element("b", owner_words(incident))
    if story.state is IncidentState.FIRING:
        return element("b", owner_words(incident), class_="lw-alarm")
    return element("span", owner_words(incident)) if incident.is_open else Markup()


def _facts(story: IncidentStory, now: datetime) -> Iterator[str]:
    incident = story.incident
    if incident.resolved_at is None:
        since = moment_near(incident.opened_at, now)
        yield f"since {since} ({span(now - incident.opened_at)})"
    else:
        yield f"{moment(incident.opened_at)} for {span(incident.resolved_at - incident.opened_at)}"
    if size := size_words(incident):
        yield size
    yield f"rule {visible(incident.rule, LONGEST_NAME)}"
    yield reach_words(story)
    if story.withheld:
        yield "some changes withheld"
    if story.unknown is not None:
        yield f"not known: {story.unknown}"
    if words := upcoming_words(story, now):
        yield words


def finished_incidents_part(
    queries: PageQueries, network_id: NetworkId | None, here: st.Page
) -> None:
    """Show the incidents that ended lately, filtered by time, rule and severity."""
    with st.container(key="card-over", gap="small"):
        section("Resolved", "Incidents that ended, the latest first.")
        wanted = _filter(queries)
        many = queries.incidents.count_finished(network_id, wanted)
        if not many:
            st.html(element("p", "No incident ended in this time.", class_="lw-quiet"))
            return
        offset = (chosen_page(many, _ROWS, _OVER_PAGE) - 1) * _ROWS
        for each in queries.incidents.finished(network_id, _ROWS, wanted, offset):
            with st.container(
                key=f"over-{each.incident.incident_id}",
                horizontal=True,
                vertical_alignment="center",
                gap="small",
            ):
                st.html(incident_markup(queries, each))
                story_link(each.incident, here)


def _filter(queries: PageQueries) -> FinishedFilter:
    with filter_bar():
        ended = choice_filter("Ended in the last", list(_ENDED), "ended", "7 d")
        severities = [ANY, *(each.value.capitalize() for each in Severity)]
        severity = select_filter("Severity", severities, "of_severity", 150)
        names = [ANY, *(each.rule.name for each in queries.rules.in_force())]
        rule = select_filter("Rule", names, "of_rule", 220)
    return FinishedFilter(
        queries.now() - _ENDED[ended],
        "" if rule == ANY else rule,
        "" if severity == ANY else severity.lower(),
    )


def open_headline(counts: OpenCounts, now: datetime) -> str:
    """Say how many incidents are open, and how many of them nobody acknowledged."""
    if not counts.many:
        return "No incident is open."
    many = counted(counts.many, "incident is", "incidents are")
    if counts.unassigned_since is None:
        return f"{many} open and acknowledged."
    oldest = span(now - counts.unassigned_since)
    if counts.many == 1:
        return f"{many} open and unassigned, for {oldest}."
    return f"{many} open; {counts.unassigned:,} unassigned, the oldest for {oldest}."
