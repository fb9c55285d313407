"""Incidents in a list: what is open, who was notified and owns it, and what a person can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.incident_words import (
    owner_words,
    reach_words,
    size_words,
    upcoming_words,
)
from dashboard.application.silences import matchers_of
from dashboard.application.text import age, moment_near
from dashboard.domain.alerts.incident import LONGEST_NOTE, Incident, IncidentResponse, IncidentState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.alerts.rule_text import LONGEST_TITLE
from dashboard.domain.formatting import counted, moment, span
from dashboard.domain.markup import Markup, element, visible
from dashboard.domain.people.access import LONGEST_NAME, Action
from dashboard.domain.quantity import NetworkId
from dashboard.show.parts.acting import Done, act, is_named, may, pressed, take_name
from dashboard.show.parts.badges import incident_badge, severity_badge, severity_sign
from dashboard.show.parts.frame import OPEN, card, in_line, link, popover, quiet
from dashboard.show.parts.list_page import (
    ANY,
    choice_filter,
    chosen_page,
    filter_bar,
    select_filter,
)
from dashboard.show.parts.notices import empty
from dashboard.show.parts.subject_acts import Subject, silence_button, watch_button
from dashboard.show.parts.table import entry, entry_markup
from dashboard.store.alerts.incident_list import FinishedFilter, IncidentStory
from dashboard.store.alerts.incidents import OpenCounts

INCIDENT: Final = "incident"
"""The parameter of the address with an incident, by its id or the beginning of it."""

_ROWS: Final = 20
_OPEN_PAGE: Final = "open_page"
_OVER_PAGE: Final = "over_page"
_ENDED: Final = {
    "24 h": timedelta(hours=24),
    "7 d": timedelta(days=7),
    "30 d": timedelta(days=30),
}


def open_incidents_part(queries: Application, network_id: NetworkId | None) -> None:
    """Show the open incidents, the most urgent first, with what can be done."""
    with card("incidents", "Open incidents"):
        many = queries.incidents.open_counts(network_id).many
        if not many:
            empty(
                "No incident is open", "A rule opens an incident when it has something to report."
            )
            return
        offset = (chosen_page(many, _ROWS, _OPEN_PAGE) - 1) * _ROWS
        for each in queries.incidents.open(network_id, _ROWS, offset):
            _row(queries, each)


def _row(queries: Application, story: IncidentStory) -> None:
    incident = story.incident
    key = f"incident-{incident.severity}-{incident.incident_id}"
    with entry(key, incident_markup(queries, story)):
        incident_acts(queries, incident)
        story_link(incident)


def story_link(incident: Incident) -> None:
    link("alerts", OPEN, {INCIDENT: str(incident.incident_id)})


def incident_markup(queries: Application, story: IncidentStory) -> Markup:
    """Build one line on what it is and how urgent, and one on who was notified and who owns it."""
    incident, now = story.incident, queries.now()
    is_firing = story.state is IncidentState.FIRING
    return entry_markup(
        severity_badge(incident.severity),
        visible(queries.incidents.title_of(incident), LONGEST_TITLE),
        _owner(story),
        *_facts(story, now),
        also=[] if is_firing else [incident_badge(story.state, incident.severity)],
    )


def _owner(story: IncidentStory) -> Markup:
    """Say who acknowledged it; if nobody did and somebody should, that stands out."""
    incident = story.incident
    if incident.owner:
        return element("b", owner_words(incident))
    if story.state is IncidentState.FIRING and incident.severity != Severity.INFO:
        return element("b", owner_words(incident), class_="lw-alarm")
    return element("span", owner_words(incident)) if incident.is_open else Markup()


def _facts(story: IncidentStory, now: datetime) -> Iterator[str]:
    incident = story.incident
    since = moment_near(incident.opened_at, now)
    yield f"since {since} ({span(now - incident.opened_at)})"
    if size := size_words(incident):
        yield size
    yield f"rule {visible(incident.rule, LONGEST_NAME)}"
    yield reach_words(story)
    if story.withheld:
        yield "some changes withheld"
    if story.unknown is not None:
        yield f"no data: {story.unknown}"
    if words := upcoming_words(story, now):
        yield words


def finished_incidents_part(queries: Application, network_id: NetworkId | None) -> None:
    """Show the incidents that ended recently, filtered by period, rule and severity."""
    with card("over", "Resolved"):
        wanted = _filter(queries)
        many = queries.incidents.count_finished(network_id, wanted)
        if not many:
            quiet("No incident ended in this time.")
            return
        offset = (chosen_page(many, _ROWS, _OVER_PAGE) - 1) * _ROWS
        with st.container(gap=None):
            for each in queries.incidents.finished(network_id, _ROWS, wanted, offset):
                with in_line(f"over-{each.incident.incident_id}"):
                    st.html(_over(queries, each.incident))
                    story_link(each.incident)


def _over(queries: Application, incident: Incident) -> Markup:
    """Build the line of a resolved incident: what it was, how long it lasted, when it ended."""
    ended, opened = incident.resolved_at or incident.changed_at, incident.opened_at
    return element(
        "div",
        severity_sign(incident.severity),
        element("b", visible(queries.incidents.title_of(incident), LONGEST_TITLE)),
        element("span", span(ended - opened)),
        element("time", age(ended, queries.now()), title=f"{moment(opened)} to {moment(ended)}"),
        class_="lw-over",
    )


def _filter(queries: Application) -> FinishedFilter:
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
    """Say how many incidents are open, and how many of them are unassigned."""
    if not counts.many:
        return "no incident open"
    many = f"{counted(counts.many, 'incident')} open"
    if counts.unassigned_since is None:
        return f"{many}, {'all ' * (counts.many > 1)}acknowledged"
    lasts = span(now - counts.unassigned_since)
    if counts.many == 1:
        return f"{many}, unassigned for {lasts}"
    return f"{many}, {counts.unassigned:,} unassigned for up to {lasts}"


_HEEDED_FOR: Final = timedelta(seconds=10)
"""How long a press waits for the run that acts: its button may be gone, and come back later."""


def incident_acts(queries: Application, incident: Incident, *, is_short: bool = False) -> None:
    """Offer what can be done, side by side: one press acknowledges, once the name is known.

    `is_short` leaves out what is needed less often.
    """
    if not may(queries, Action.ACKNOWLEDGE):
        return
    key = str(incident.incident_id)
    if incident.owner:
        _unacknowledge(queries, incident)
    else:
        acknowledge_button(queries, key, [incident.incident_id])
    subject = Subject(queries.incidents.title_of(incident), matchers_of(incident))
    silence_button(queries, key, subject)
    if is_short:
        return
    watch_button(queries, key, subject)
    popover("More", f"more-{key}", partial(_more, queries, incident))


def acknowledge_button(
    queries: Application, key: str, ids: Sequence[UUID], label: str = "Acknowledge"
) -> None:
    """Offer to own incidents: one press for all of them, once the name is known.

    A press applies to those that were shown, even if others came meanwhile.
    """
    if not may(queries, Action.ACKNOWLEDGE):
        return
    if not is_named(queries):
        ask = partial(_name_form, queries, key, ids, label)
        popover(label, f"naming-{key}", ask, "primary")
        return
    noted = st.session_state.pop(_pressed(key), None)
    name, told = f"acknowledge-{key}", (queries, key, ids, "")
    st.button(label, key=name, type="primary", on_click=_note_press, args=told)
    if noted is not None and queries.now() - noted[0] < _HEEDED_FOR:
        _acknowledge(queries, *noted[1:])


def _name_form(queries: Application, key: str, ids: Sequence[UUID], label: str) -> None:
    """Ask for the name together with the first act."""
    with st.form(f"name-{key}", border=False):
        st.text_input("Your name", key=f"who-{key}", max_chars=LONGEST_NAME)
        st.text_input("Note (optional)", key=f"first-note-{key}", max_chars=LONGEST_NOTE)
        is_pressed = st.form_submit_button(
            label, type="primary", on_click=_take_name, args=(queries, key, ids)
        )
    if is_pressed:
        _acknowledge(queries, ids, "")


def _take_name(queries: Application, key: str, ids: Sequence[UUID]) -> None:
    """Remember the name before the page is redrawn, which then acts with it at once.

    A press may be handled a second time, when the form is gone: that empties no name.
    """
    if not (name := str(st.session_state.get(f"who-{key}") or "")):
        return
    take_name(name)
    if is_named(queries):
        _note_press(queries, key, ids, st.session_state.get(f"first-note-{key}") or "")


def _note_press(queries: Application, key: str, ids: Sequence[UUID], note: str) -> None:
    """Remember what to acknowledge: a run that is cut short loses the press."""
    st.session_state[_pressed(key)] = (queries.now(), ids, note)


def _pressed(key: str) -> str:
    return f"acknowledging-{key}"


def _acknowledge(queries: Application, ids: Sequence[UUID], note: str) -> None:
    act(
        queries,
        lambda by: queries.incidents.acknowledge_all(ids, by, note),
        partial(_acknowledged, queries),
    )


def _acknowledged(queries: Application, responses: Sequence[IncidentResponse]) -> Done:
    """Say what happened to the incidents; Undo removes the owner of those that were changed."""
    changed = [each for each in responses if each.event is not None]
    if len(responses) == 1:
        is_open = responses[0].incident.is_open
        became = "is acknowledged by {owner}" if is_open else "is resolved already"
        return _said(queries, became, "")(responses[0])
    many = counted(len(changed), "incident is", "incidents are")
    by = f" by {changed[0].incident.owner}" if changed else ""
    rest = len(responses) - len(changed)
    others = f"; {rest:,} had an owner, were resolved or are pending" if rest else ""
    undo = partial(queries.incidents.take_back, changed, "") if changed else None
    return Done(f"{many} acknowledged{by}{others}", undo)


def _unacknowledge(queries: Application, incident: Incident) -> None:
    ask, incident_id = queries.incidents, incident.incident_id
    key = f"unacknowledge-{incident_id}"
    if pressed(queries, "Unacknowledge", key, help="Leave it unassigned"):
        said = _said(queries, "is unassigned", incident.owner)
        act(queries, lambda by: ask.unacknowledge(incident_id, by), said, button=key)


def _more(queries: Application, incident: Incident) -> None:
    """Offer what is needed less often: a note, another person, and the end."""
    key, ask = str(incident.incident_id), queries.incidents
    incident_id, owner = incident.incident_id, incident.owner
    note = st.text_input("Note (optional)", key=f"note-{key}", max_chars=LONGEST_NOTE) or ""
    if not owner and st.button("Acknowledge with this note", key=f"acknowledge-note-{key}"):
        _acknowledge(queries, [incident_id], note)
    to = st.text_input(
        "To whom", key=f"to-{key}", max_chars=LONGEST_NAME, help="A recipient is notified of it"
    )
    button = f"hand-over-{key}"
    if pressed(queries, "Hand over", button):
        said = _said(queries, "is handed over to {owner}", owner)
        act(queries, lambda by: ask.hand_over(incident_id, to or "", by, note), said, button=button)
    button, hint = f"resolve-{key}", "Permanently: later changes open a new incident"
    if pressed(queries, "Resolve", button, help=hint):
        said = _said(queries, "is resolved", None)
        act(queries, lambda by: ask.resolve(incident_id, by, note), said, button=button)


def _said(queries: Application, what: str, owner: str | None) -> Callable[[IncidentResponse], Done]:
    """Say what a response did to the incident; `what` may name its {owner}.

    Undo restores the former `owner`, empty for none; with None there is no Undo.
    """

    def said(response: IncidentResponse) -> Done:
        can_be = owner is not None and response.event is not None
        undo = partial(queries.incidents.take_back, [response], owner or "") if can_be else None
        title = queries.incidents.title_of(response.incident)
        so = f"“{title}” {what.replace('{owner}', response.incident.owner)}."
        notified = queries.incidents.owner_notified(response)
        also = queries.incidents.with_it(response.others)
        return Done(" ".join(filter(None, (so, notified, also))).removesuffix("."), undo)

    return said
