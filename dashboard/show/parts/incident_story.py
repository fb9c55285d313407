"""One incident: its story line by line, who was notified, what it looked like, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.fee_listing import fee_csv
from dashboard.application.fees import FeeView
from dashboard.application.incident_words import (
    event_words,
    owner_words,
    state_remarks,
    upcoming_words,
    withheld_words,
)
from dashboard.application.listing import Column, Listing
from dashboard.application.text import moment, moment_near, span
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.rule_text import LONGEST_TITLE
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.quantity import NetworkId
from dashboard.show.charts.fee_chart import drawing_of
from dashboard.show.parts.badges import incident_badge, severity_badge
from dashboard.show.parts.chart import chart
from dashboard.show.parts.frame import heading, in_line, link, section
from dashboard.show.parts.incident_list import incident_acts
from dashboard.show.parts.list_page import file_button
from dashboard.show.parts.pictures import bars
from dashboard.show.parts.table import list_table
from dashboard.store.alerts.incident_list import IncidentStory, NotifiedRecipient

_STATES: Final = (
    ("Sent", NotificationState.SENT),
    ("Pending", NotificationState.PENDING),
    ("Dead", NotificationState.DEAD),
    ("Held", NotificationState.HELD),
)
_LONGEST_ADDRESS: Final = 120
_BARS: Final = 40
_STEPS: Final = tuple(
    timedelta(seconds=each)
    for each in (1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
)
_CHART_HEIGHT: Final = 240
_BY_FEES: Final = frozenset({RuleKind.BUSY, RuleKind.FEE, RuleKind.DATA_STALE})


def incident_story_part(queries: Application, story: IncidentStory) -> None:
    """Show one incident, open or resolved."""
    incident, now = story.incident, queries.now()
    heading(visible(queries.incidents.title_of(incident), LONGEST_TITLE), _answer(story, now))
    with in_line("story-acts"):
        st.html(
            element(
                "div",
                severity_badge(incident.severity),
                incident_badge(story.state, incident.severity),
                class_="lw-row",
            )
        )
        if incident.is_open:
            incident_acts(queries, incident)
    for remark in state_remarks(story):
        st.html(element("p", remark, class_="lw-quiet"))
    left, right = st.columns([1, 1], gap="small")
    with left, st.container(key="card-story", gap="small"):
        section("Story", "The latest last, in UTC.")
        st.html(_events(story))
    with right:
        with st.container(key="card-notified", gap="small"):
            section("Who was notified")
            st.html(_notified(story))
        with st.container(key="card-chart", gap="small"):
            _chart(queries, incident)
    with st.container(key="links-incident", horizontal=True):
        _links(queries, incident)
    st.html(element("p", f"Incident {incident.incident_id}", class_="lw-quiet lw-mono"))


def _answer(story: IncidentStory, now: datetime) -> str:
    """Say in one sentence since when, how far it grew, who owns it and what comes next."""
    incident = story.incident
    if incident.resolved_at is not None:
        length = span(incident.resolved_at - incident.opened_at)
        return f"Resolved on {moment(incident.resolved_at)} after {length}."
    since = f"Since {moment_near(incident.opened_at, now)} ({span(now - incident.opened_at)})"
    following = upcoming_words(story, now)
    return "; ".join(filter(None, (since, owner_words(incident), following))) + "."


def _events(story: IncidentStory) -> Markup:
    rows = [
        element(
            "li",
            element("time", f"{each.at:%d %b %H:%M:%S}", title=moment(each.at)),
            element("span", event_words(each)),
        )
        for each in story.events
    ]
    return element("ol", *rows, class_="lw-story")


def _notified(story: IncidentStory) -> Markup:
    if not story.notified and not story.withheld:
        return element("p", "Nobody was notified.", class_="lw-quiet")
    recipients = Markup()
    if story.notified:
        recipients = list_table(_listing(story.notified), story.notified, "Who was notified")
    withheld = (element("p", withheld_words(each), class_="lw-quiet") for each in story.withheld)
    return join(recipients, *withheld)


def _listing(notified: Sequence[NotifiedRecipient]) -> Listing[NotifiedRecipient]:
    """Return how recipients are listed: with each state that some notification is in, and sent."""
    occurring = {NotificationState.SENT, *(state for each in notified for state in each.states)}
    return Listing(
        "notified",
        (
            Column("Who", _who),
            *(_counted(name, state) for name, state in _STATES if state in occurring),
            Column("Last sent (UTC)", _last_sent),
        ),
    )


def _who(each: NotifiedRecipient) -> Markup:
    return breakable(visible(each.recipient.address, _LONGEST_ADDRESS))


def _counted(name: str, state: NotificationState) -> Column[NotifiedRecipient]:
    return Column(name, lambda each: each.states.get(state, 0))


def _last_sent(each: NotifiedRecipient) -> str:
    return "" if each.last_sent is None else f"{each.last_sent:%d %b %H:%M:%S}"


def _chart(queries: Application, incident: Incident) -> None:
    """Show the fee while it lasted, or when its changes happened."""
    network_id, kind = incident.network_id, RuleKind(incident.kind)
    until = incident.resolved_at or queries.now()
    if kind in _BY_FEES and network_id is not None:
        view = queries.fees.around(network_id, incident.opened_at, until)
        if view is not None:
            section("The fee at that time")
            key, name = f"chart-{incident.incident_id}", f"incident-{incident.incident_id}"
            chart(drawing_of(view), key, _CHART_HEIGHT, name)
            _csv(view, network_id, name)
            return
    times = queries.incidents.change_times(incident.incident_id)
    section("Changes by time")
    st.html(_bars(times, incident.opened_at, min(until, incident.changed_at)))


def _csv(view: FeeView, network_id: NetworkId, name: str) -> None:
    file_button(
        lambda: fee_csv(view.timeline, network_id),
        f"{name}.csv",
        f"csv-{name}",
        note="The figures of this chart, in whole wei.",
    )


def _bars(times: Sequence[datetime], since: datetime, until: datetime) -> Markup:
    if not times:
        return element("p", "No change of it is kept.", class_="lw-quiet")
    since = min(since, *times)
    length = max(until, *times) - since
    step = next((each for each in _STEPS if each * _BARS >= length), _STEPS[-1])
    counts = [0] * (length // step + 1)
    for each in times:
        counts[(each - since) // step] += 1
    style = "%d %b %H:%M:%S" if step < timedelta(minutes=1) else "%d %b %H:%M"
    drawn = [(f"{since + number * step:{style}}", count) for number, count in enumerate(counts)]
    words = f"{len(times):,} changes from {moment(since)} on, each bar {span(step)}"
    return bars(drawn, "changes", words)


def _links(queries: Application, incident: Incident) -> None:
    group = dict(incident.group)
    network_id, kind = incident.network_id, RuleKind(incident.kind)
    of_network = {} if network_id is None else {"network": queries.network_name(network_id)}
    if KINDS[kind].is_of_rejections:
        module = group.get(MatchedProperty.MODULE, "")
        stage = group.get(MatchedProperty.STAGE, "")
        narrowed = {"module": module, "stage": stage}
        asked = of_network | {key: value for key, value in narrowed.items() if value}
        link("rejections", "Rejections like these", asked)
    elif kind in _BY_FEES:
        link("fees", "Fees of this network", of_network)
    else:
        link("health", "Health", of_network)
    deliveries = {"section": "Deliveries", "alerts_search": str(incident.incident_id)}
    link("alerts", "Every delivery of this incident", deliveries)
    link("alerts", "Its rule", {"section": "Rules", "rule": incident.rule})
