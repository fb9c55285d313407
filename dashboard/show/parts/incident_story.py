"""One incident: a picture by its kind, and the timeline of who did what and was notified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.incident_words import (
    TimelineEntry,
    owner_words,
    reach_words,
    state_remarks,
    upcoming_words,
    withheld_words,
)
from dashboard.application.source_health import OPERATION_NAMES
from dashboard.application.text import moment_near
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.alerts.rule_text import LONGEST_TITLE
from dashboard.domain.formatting import capitalized, moment, size, span
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.quantity import NetworkId
from dashboard.show.charts.fee_chart import drawing_of
from dashboard.show.parts.answer_strips import answer_strip, cell_state, strip_legend
from dashboard.show.parts.badges import incident_badge, severity_badge
from dashboard.show.parts.chart import chart
from dashboard.show.parts.fee_summary import fee_file
from dashboard.show.parts.frame import card, heading, in_line, link, quiet, section
from dashboard.show.parts.health_sources import share_words
from dashboard.show.parts.incident_list import incident_acts
from dashboard.show.parts.table import table
from dashboard.store.alerts.incident_list import IncidentStory

_ENOUGH: Final = 6
"""From this number of changes on, bars say more than the timeline."""

_BARS: Final = 40
_STEPS: Final = tuple(
    timedelta(seconds=each)
    for each in (1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
)
_CHART_HEIGHT: Final = 240
_BY_FEES: Final = frozenset({RuleKind.BUSY, RuleKind.FEE, RuleKind.DATA_STALE})


def incident_story_part(queries: Application, story: IncidentStory) -> None:
    """Show one incident, open or resolved: its picture, and below what happened."""
    incident, now = story.incident, queries.now()
    title = breakable(visible(queries.incidents.title_of(incident), LONGEST_TITLE))
    heading(title, _answer(story, now))
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
        quiet(remark)
    _picture(queries, incident)
    with card("story", "Timeline", f"{capitalized(reach_words(story))}. The latest first, in UTC."):
        st.html(_timeline(queries.incidents.timeline(story), story))
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


def _timeline(entries: Sequence[TimelineEntry], story: IncidentStory) -> Markup:
    """Build the list of events, each with who was notified, and who was not and why."""
    rows = [
        element(
            "li",
            element("time", f"{each.at:%d %b %H:%M:%S}", title=moment(each.at)),
            element("span", capitalized(each.what)),
            *(element("span", breakable(whom), class_="lw-whom") for whom in each.whom),
        )
        for each in entries
    ]
    withheld = (element("p", withheld_words(each), class_="lw-quiet") for each in story.withheld)
    return join(element("ol", *rows, class_="lw-story"), *withheld)


def _picture(queries: Application, incident: Incident) -> None:
    """Show its picture, if its kind has one."""
    network_id, kind = incident.network_id, RuleKind(incident.kind)
    until = incident.resolved_at or queries.now()
    with st.container(key="card-chart", gap="small"):
        if kind is RuleKind.DISK_FILLING:
            _disk(queries, until)
        elif kind is RuleKind.UPSTREAM_SILENT and network_id is not None:
            _sources(queries, network_id, until)
        elif kind in _BY_FEES and network_id is not None:
            _fees(queries, incident, network_id, until)
        elif incident.transitions >= _ENOUGH:
            times = queries.incidents.change_times(incident.incident_id)
            section("Changes by time")
            st.html(change_bars(times, incident, min(until, incident.changed_at)))


def _fees(queries: Application, incident: Incident, network_id: NetworkId, until: datetime) -> None:
    """Show the fee while it lasted."""
    view = queries.fees.around(network_id, incident.opened_at, until)
    if view is None:
        return
    section("The fee at that time")
    key, name = f"chart-{incident.incident_id}", f"incident-{incident.incident_id}"
    chart(drawing_of(view), key, _CHART_HEIGHT, name)
    fee_file(view, network_id, name)


def _sources(queries: Application, network_id: NetworkId, until: datetime) -> None:
    """Show how each question to a network was answered in the day before."""
    records = queries.health.records_until(until)
    mine = {each: record for (owner, each), record in records.items() if owner == network_id}
    section("Answers", f"The 24 h until {moment(until)}; a bar is a quarter of an hour.")
    rows = [
        (
            OPERATION_NAMES[each],
            answer_strip(record.quarters, OPERATION_NAMES[each]),
            share_words(record.total),
        )
        for each, record in mine.items()
    ]
    if not rows:
        quiet("Nothing was asked in this time.")
        return
    strips = table(("Question", "Last 24 h", "Answered"), rows, "Answers of its sources")
    shown = {cell_state(quarter) for record in mine.values() for quarter in record.quarters}
    st.html(element("div", strips, strip_legend(list(shown)), class_="lw-sources"))


def _disk(queries: Application, until: datetime) -> None:
    """Show how much was free on the disk of the store, day by day, and now."""
    measured = queries.health.free_space_by_day(until)
    least = queries.context.settings.low_space
    section("Free space on the disk", f"Below {size(least)} is low." if least else "")
    if not measured:
        quiet("No measurement is stored.")
        return
    at, free = measured[-1]
    words = f"{size(free)} free on {moment(at)}"
    st.html(element("p", element("b", words)))
    if len(measured) > 1:
        drawn = [(f"{when:%d %b %H:%M}", amount) for when, amount in measured]
        st.html(_bars(drawn, "free", f"Free space, latest {words}", amount_words=size))


def change_bars(times: Sequence[datetime], incident: Incident, until: datetime) -> Markup:
    """Draw when its changes happened; if `times` are not all of them, from the first of these on.

    `times` come the latest first.
    """
    if not times:
        return element("p", "No change is stored.", class_="lw-quiet")
    is_whole = len(times) >= incident.transitions
    since = min(incident.opened_at, *times) if is_whole else min(times)
    of = "changes" if is_whole else "latest changes"
    length = max(until, *times) - since
    step = next((each for each in _STEPS if each * _BARS >= length), _STEPS[-1])
    counts = [0] * (length // step + 1)
    for each in times:
        counts[(each - since) // step] += 1
    style = "%d %b %H:%M:%S" if step < timedelta(minutes=1) else "%d %b %H:%M"
    drawn = [(f"{since + number * step:{style}}", count) for number, count in enumerate(counts)]
    words = f"{len(times):,} {of} from {moment(since)} on, each bar {span(step)}"
    return _bars(drawn, of, words)


def _bars(
    counted: Sequence[tuple[str, int]],
    of: str,
    words: str,
    amount_words: Callable[[int], str] | None = None,
) -> Markup:
    """Draw amounts from left to right, each by the name of its time; a table says the same.

    `of` is what they are; `words` say what they show to someone who cannot see them. Counts have a
    total; an amount that `amount_words` format, such as bytes, has its last one.
    """
    said = amount_words or _plain
    highest = max((count for _, count in counted), default=0)
    drawn = (_bar(name, count, f"{said(count)} {of}", highest or 1) for name, count in counted)
    plot = element("div", *drawn, class_="lw-plot")
    top = element("span", said(highest), class_="lw-top", aria_hidden="true")
    names = [counted[place][0] for place in (0, len(counted) // 2, -1)] if counted else []
    axis = element("div", *(element("span", name) for name in names), class_="lw-axis")
    figure = element("div", top, plot, axis, class_="lw-bars", role="img", aria_label=words)
    sign = element("i", class_="a", aria_hidden="true")
    total = sum(count for _, count in counted) if amount_words is None else counted[-1][1]
    last = element("span", sign, f"{of} ", element("b", said(total)))
    rows = [(name, said(count)) for name, count in counted if count]
    return join(figure, element("p", last, class_="lw-legend"), _as_table(rows, of))


def _bar(name: str, count: int, words: str, highest: int) -> Markup:
    drawn = element("i", class_="a", style=f"height: {count / highest:.2%}") if count else Markup()
    return element("div", drawn, title=f"{name}: {words if count else 'none'}")


def _as_table(said: Sequence[tuple[str, str]], of: str) -> Markup:
    if not said:
        return Markup()
    numbers = table(("Time (UTC)", of), said[::-1], "Amounts over time", {of})
    return element("details", element("summary", "The same as a table"), numbers, class_="lw-more")


def _plain(amount: int) -> str:
    return f"{amount:,}"


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
