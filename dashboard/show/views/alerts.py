"""Alerts answers: what fired, who was notified, was it delivered, and who works on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.deliveries import (
    notification_filter,
    pending_changes_words,
)
from dashboard.application.health import is_mail_late
from dashboard.application.incident_words import withheld_words
from dashboard.application.text import age, sentence
from dashboard.domain.alerts.notification import Notification, NotificationState
from dashboard.domain.formatting import capitalized, counted, moment
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.search import HashRange
from dashboard.errors import InputError
from dashboard.show.parts.acting import done_shown, name_input
from dashboard.show.parts.attention_list import attention_list
from dashboard.show.parts.frame import (
    card,
    chosen_network_id,
    chosen_networks,
    heading,
    link,
    live,
    section,
)
from dashboard.show.parts.incident_list import (
    INCIDENT,
    finished_incidents_part,
    open_headline,
    open_incidents_part,
)
from dashboard.show.parts.incident_story import incident_story_part
from dashboard.show.parts.list_page import choice_filter, filter_bar, page_of_rows, search_filter
from dashboard.show.parts.notices import empty, missing_links_shown, notice, store_errors_shown
from dashboard.show.parts.notification_table import (
    dead_part,
    incident_row,
    notification_table,
    verification_table,
)
from dashboard.show.parts.recipients import recipients_part, unreached_shown
from dashboard.show.parts.rule_form import LIKE, RULE, leave_form
from dashboard.show.parts.rule_list import rules_part
from dashboard.show.parts.silences import silences_part
from dashboard.show.parts.table import time_ago
from dashboard.store.alerts.alert_status import NotificationCounts
from dashboard.store.alerts.notification_search import NotificationFilter

REFRESH: Final = timedelta(seconds=5)
ROWS: Final = 20
_MOST_ABOUT: Final = 200
"""The most notifications of one transaction from which its answer is concluded."""

PAGE_NUMBER: Final = "alerts_page"
STATE: Final = "state"
SEARCH: Final = "alerts_search"
_ALL: Final = "All"
_STATES: Final = {
    _ALL: None,
    "Pending": NotificationState.PENDING,
    "Sent": NotificationState.SENT,
    "Dead": NotificationState.DEAD,
    "Held": NotificationState.HELD,
}


def page() -> None:
    """Show one incident, or the chosen section of the page; each refreshes by itself."""
    queries = application.current()
    with store_errors_shown():
        leave_form()
        _write_address()
        if INCIDENT in st.query_params:
            with st.container(key="alerts-bar", horizontal=True, vertical_alignment="center"):
                link("alerts", "← All incidents")
                name_input(queries)
            done_shown(queries)
            _incident()
            return
        _head()
        if SECTION not in st.session_state and {SEARCH, STATE} & st.query_params.keys():
            st.session_state[SECTION] = DELIVERIES
        with st.container(key="alerts-bar", horizontal=True, vertical_alignment="center"):
            chosen = choice_filter("Section", list(_SECTIONS), SECTION, INCIDENTS, wraps=True)
            name_input(queries)
        if chosen != RULES:
            for each in {RULE, LIKE} & st.query_params.keys():
                del st.query_params[each]
        done_shown(queries)
        _SECTIONS[chosen]()


def _write_address() -> None:
    """Write the address again: a link from a page to itself leaves the browser's address as it is.

    If it names nothing any more, a change that is undone lets the browser know.
    """
    named = [each for each in (INCIDENT, RULE, LIKE) if each in st.query_params]
    for each in named:
        st.query_params[each] = st.query_params[each]
    if st.session_state.get(_NAMED) and not named:
        st.query_params[INCIDENT] = ""
        del st.query_params[INCIDENT]
    st.session_state[_NAMED] = bool(named)


@live(REFRESH)
def _head() -> None:
    """Answer at first sight what fired, what is unassigned, and whether everything was sent."""
    queries = application.current()
    with store_errors_shown("Alerts", is_said_below=True):
        now = queries.now()
        opened = queries.incidents.open_counts(chosen_network_id(queries.networks))
        absent = queries.absent_worker()
        said = [] if absent is None else [absent.title]
        said += [open_headline(opened, now), headline(queries.alerts.counts(), now)]
        heading("Alerts", f"{capitalized(' · '.join(said))}.", now)
        unreached_shown(queries)


@live(REFRESH)
def _incident() -> None:
    queries = application.current()
    with store_errors_shown():
        try:
            found = queries.incidents.named(st.query_params.get(INCIDENT, ""))
        except InputError as mistake:
            heading("Alerts", "This incident is not known.")
            notice("busy", "No such incident.", sentence(visible(capitalized(str(mistake)))))
            return
        story = queries.incidents.story(found.incident_id)
        if story is not None:
            incident_story_part(queries, story)


@live(REFRESH)
def _incidents() -> None:
    queries = application.current()
    with store_errors_shown():
        now, chosen = queries.now(), chosen_network_id(queries.networks)
        _together(queries)
        open_incidents_part(queries, chosen)
        _networks_in_trouble(queries, chosen, now)
        finished_incidents_part(queries, chosen)
        missing_links_shown(queries.context.settings.public_url)


def _together(queries: Application) -> None:
    """Offer to acknowledge together what Overview shows as one line."""
    now, known = queries.statuses_as_of()
    chosen = chosen_networks(queries.networks)
    statuses = [each for each in known if each.profile in chosen]
    needed = queries.needed_attention(statuses, now)
    attention_list(queries, [each for each in needed if len(each.incidents) > 1], here="alerts")


@live(REFRESH)
def _silences() -> None:
    with store_errors_shown():
        silences_part(application.current())


@st.fragment
def _rules() -> None:
    with store_errors_shown():
        rules_part(application.current())


@live(REFRESH)
def _recipients() -> None:
    queries = application.current()
    with store_errors_shown():
        recipients_part(queries)


@live(REFRESH)
def _deliveries() -> None:
    queries = application.current()
    with store_errors_shown():
        counts = queries.alerts.counts()
        _tiles(counts, queries.now())
        if counts.dead:
            dead_part(queries)
        _notifications(queries, counts)


_NAMED: Final = "address_names_something"
SECTION: Final = "section"
"""The parameter of the address that names the section."""

INCIDENTS: Final = "Incidents"
RULES: Final = "Rules"
DELIVERIES: Final = "Deliveries"
_SECTIONS: Final[dict[str, Callable[[], None]]] = {
    INCIDENTS: _incidents,
    "Silences": _silences,
    RULES: _rules,
    "Recipients": _recipients,
    DELIVERIES: _deliveries,
}


def headline(counts: NotificationCounts, now: datetime) -> str:
    """Say how many notifications are pending, dead or held; if none is, when one was sent."""
    states = {"pending": counts.pending, "dead": counts.dead, "held": counts.held}
    found = [(many, state) for state, many in states.items() if many]
    said = [
        f"{many:,} {state}" if place else f"{counted(many, 'notification')} {state}"
        for place, (many, state) in enumerate(found)
    ]
    if counts.pending_changes:
        said.append(f"{counted(counts.pending_changes, 'change')} pending")
    if said:
        return ", ".join(said)
    if counts.last_sent is None:
        return "nothing sent in 30 days"
    return f"last notification {age(counts.last_sent, now)}"


class _Tile(Struct, frozen=True):
    """One count; `is_wrong` if it needs attention."""

    name: str
    number: int
    note: str
    is_wrong: bool = False


def _tiles(counts: NotificationCounts, now: datetime) -> None:
    oldest, last = counts.oldest_pending, counts.last_sent
    pending = "" if oldest is None else join("oldest ", time_ago(oldest, now))
    sent = "in 30 days" if last is None else join("in 30 days, last ", time_ago(last, now))
    held = join("since a restore: decide with ", element("code", "linewatch release"))
    tiles = (
        _Tile("Pending", counts.pending, pending, is_wrong=is_mail_late(counts, now)),
        _Tile("Sent", counts.sent, sent),
        _Tile("Dead", counts.dead, "in 30 days", is_wrong=bool(counts.dead)),
        *([_Tile("Held", counts.held, held, is_wrong=True)] if counts.held else []),
    )
    st.html(element("dl", *map(_tile, tiles), class_="lw-figures lw-tiles"))


def _tile(tile: _Tile) -> Markup:
    return element(
        "div",
        element("dt", tile.name),
        element("dd", f"{tile.number:,}"),
        element("dd", tile.note, class_="lw-note"),
        class_="is-wrong" if tile.is_wrong else None,
    )


def _networks_in_trouble(queries: Application, chosen: NetworkId | None, now: datetime) -> None:
    found = [each for each in queries.alerts.open() if chosen in {None, each.subject.network_id}]
    if not found:
        return
    statuses = {each.profile.network_id: each for each in queries.network_statuses()}
    with card("open", "Conditions now", "Everything that holds now, with or without a rule."):
        rows = (
            incident_row(each, queries.context, now, statuses.get(each.subject.network_id))
            for each in found
        )
        st.html(join(*rows))


def _notifications(queries: Application, counts: NotificationCounts) -> None:
    wanted = _filter(queries)
    total = queries.alerts.count(wanted)

    def draw(number: int) -> None:
        found = queries.alerts.page(wanted, number, ROWS)
        st.html(notification_table(found, queries.network_name))

    with card(
        "notifications",
        "Notifications",
        "Every notification, sent or not, the latest first, in UTC.",
    ):
        if wanted.tx_hashes is not None and wanted.tx_hashes.only is not None:
            _about_hash(queries, wanted.tx_hashes.only)
        if total:
            page_of_rows(total, ROWS, PAGE_NUMBER, draw)
        elif queries.alerts.count(NotificationFilter()):
            empty("No notification matches these filters", "Remove one to see what was sent.")
        elif counts.pending_changes:
            empty("No notification was made yet", pending_changes_words(counts))
        else:
            empty(
                "There was nothing to send yet",
                "Notifications go by mail to the recipients under [mail] in linewatch.toml when a "
                "tracked transaction is rejected or a network changes.",
            )
        _verification_mails(queries, wanted)


def _verification_mails(queries: Application, wanted: NotificationFilter) -> None:
    """Show the results of the mails that ask addresses for their verification."""
    found = queries.alerts.verification_mails(wanted)
    if found:
        section("Verification mails", "The latest to each address, with every attempt.")
        st.html(verification_table(found[:ROWS], queries.now()))


def _filter(queries: Application) -> NotificationFilter:
    with filter_bar():
        state = choice_filter("State", list(_STATES), STATE, _ALL)
        text = search_filter(
            SEARCH,
            "Search recipient, hash, incident",
        )
    wanted = notification_filter(queries.context, chosen_network_id(queries.networks), text)
    return replace(wanted, state=_STATES[state])


def _about_hash(queries: Application, tx_hash: TxHash) -> None:
    """Answer for one transaction, whatever else is filtered."""
    wanted = NotificationFilter(tx_hashes=HashRange.of(tx_hash))
    found = queries.alerts.page(wanted, 1, _MOST_ABOUT)
    withheld = queries.incidents.withheld_about(tx_hash)
    if withheld:
        words = ". ".join(withheld_words(each) for each in withheld)
        notice("busy", "Not everybody was notified.", f"{words}.")
    if found:
        notice(*sent_answer([each.notification for each in found]))
    if found or withheld:
        return
    if queries.tracked_among(tx_hash):
        why = "It is tracked; the rules say who is notified if it is rejected."
    else:
        why = "It is not tracked; only a rule for all reports notifies anybody of it."
    notice("empty", "There is no notification about this transaction.", why)


def sent_answer(notifications: Sequence[Notification]) -> tuple[str, str, str]:
    """Say whether the notifications of one transaction were sent: kind, headline, text."""
    states = Counter(each.state for each in notifications)
    sent = "; ".join(
        f"to {visible(each.recipient.address, 80)} at {moment(each.sent_at)}"
        for each in notifications
        if each.state is NotificationState.SENT and each.sent_at is not None
    )
    for kind, state, word in (
        ("bad", NotificationState.DEAD, "dead"),
        ("busy", NotificationState.PENDING, "pending"),
        ("busy", NotificationState.HELD, "held"),
    ):
        if states[state]:
            summary = f"{states[state]} of {len(notifications)} {word}."
            if state is not NotificationState.HELD:
                return kind, summary, f"Sent {sent or 'to nobody'}."
            before = f"Sent {sent}. " if sent else ""
            return kind, summary, f"{before}Held ones may have been sent before the restore."
    return "calm", "Yes, it was sent:", f"{sent}."
