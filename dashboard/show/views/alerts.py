"""Alerts answers: what lasts, who was told, was it sent, and what keeps a letter from going."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.domain.foreign_text import visible
from dashboard.domain.notification import NotificationState
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejection_filter import HashRange
from dashboard.domain.search import LONGEST_SEARCH
from dashboard.show.parts.counts import Tile, tiles
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.list_page import chosen_page
from dashboard.show.parts.markup import join
from dashboard.show.parts.network_chooser import chosen_network_id
from dashboard.show.parts.notices import empty, notice, store_errors_shown
from dashboard.show.parts.notification_table import incident_row, notification_table, resend_form
from dashboard.show.queries import page_queries
from dashboard.show.queries.alerts import NotificationHistory, notification_filter
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import age, moment, moment_near
from dashboard.store.alerts.alert_status import NotificationCounts, OpenIncident
from dashboard.store.alerts.notification_search import NotificationFilter

REFRESH: Final = timedelta(seconds=5)
ROWS: Final = 20
PAGE_NUMBER: Final = "alerts_leaf"
STATE: Final = "post"
ABOUT: Final = "about"
_ALL: Final = "All"
_STATES: Final = {
    _ALL: None,
    "Waiting": NotificationState.PENDING,
    "Sent": NotificationState.SENT,
    "Given up": NotificationState.DEAD,
    "Held": NotificationState.HELD,
}


def place() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Alerts", url_path="alerts")


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    _live()


@st.fragment(run_every=REFRESH)
def _live() -> None:
    queries = page_queries.current()
    with store_errors_shown():
        now = queries.now()
        standing = queries.alerts.standing()
        heading("Alerts", f"{answer(standing, now)} As of {moment(now)}.")
        lasting = _lasting(queries)
        _standing(standing, lasting, now)
        _open(queries, lasting, now)
        if standing.dead:
            resend_form(queries)
        _letters(queries, standing)


def answer(standing: NotificationCounts, now: datetime) -> str:
    """Say whether everything pending was sent, and if not, how much waits or was given up."""
    said = []
    if standing.pending:
        said.append(
            "1 mail waits." if standing.pending == 1 else f"{standing.pending:,} mails wait."
        )
    if standing.dead:
        given_up = "1 mail was" if standing.dead == 1 else f"{standing.dead:,} mails were"
        said.append(f"{given_up} given up.")
    if standing.held:
        were = "1 mail is" if standing.held == 1 else f"{standing.held:,} mails are"
        said.append(f"{were} held since a backup was restored: `linewatch release` decides.")
    if said:
        return " ".join(said)
    if standing.last_sent is None:
        return "There was nothing to send in the last 30 days."
    return f"No mail waits; the last was sent {age(standing.last_sent, now)}."


def _lasting(queries: PageQueries) -> tuple[OpenIncident, ...]:
    chosen = chosen_network_id(queries.networks)
    return tuple(
        each for each in queries.alerts.open() if chosen in {None, each.subject.network_id}
    )


def _standing(
    standing: NotificationCounts, lasting: tuple[OpenIncident, ...], now: datetime
) -> None:
    oldest, last = standing.oldest_pending, standing.last_sent
    waits = "nothing waits" if oldest is None else f"the oldest since {moment_near(oldest, now)}"
    sent = "none in 30 days" if last is None else f"in 30 days, the last {age(last, now)}"
    tiles(
        Tile("Open now", len(lasting), "on networks", is_wrong=bool(lasting)),
        Tile("Waiting", standing.pending, waits, is_wrong=bool(standing.pending)),
        Tile("Given up", standing.dead, "in 30 days", is_wrong=bool(standing.dead)),
        Tile("Sent", standing.sent, sent),
    )


def _open(queries: PageQueries, lasting: tuple[OpenIncident, ...], now: datetime) -> None:
    if not lasting:
        return
    with st.container(key="card-open", gap="small"):
        section("Open now", "Each is told once when it opens and once when it is over.")
        st.html(join(*(incident_row(each, queries.context, now) for each in lasting)))


def _letters(queries: PageQueries, standing: NotificationCounts) -> None:
    wanted = _filter(queries)
    total = queries.alerts.how_many(wanted)
    with st.container(key="card-letters", gap="small"):
        section("Mails", "Every mail, sent or not, the latest first.")
        if wanted.tx_hashes is not None and wanted.tx_hashes.only is not None:
            _about_hash(queries, wanted.tx_hashes.only)
        if total:
            table = st.container()
            number = chosen_page(total, ROWS, PAGE_NUMBER)
            found = queries.alerts.page(wanted, number, ROWS)
            table.html(notification_table(found, queries.network_name))
        elif standing.last_sent or standing.pending or standing.dead:
            empty("No mail fits these filters", "Take one away to see what was sent.")
        else:
            empty(
                "There was nothing to send yet",
                "Mails go to the recipients under [mail] in linewatch.toml when a tracked "
                "transaction is rejected or a network changes.",
            )


def _filter(queries: PageQueries) -> NotificationFilter:
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "Was it sent?",
            list(_STATES),
            default=_ALL,
            required=True,
            key=STATE,
            bind="query-params",
        )
        text = st.text_input(
            "Search",
            key=ABOUT,
            bind="query-params",
            max_chars=LONGEST_SEARCH,
            type="search",
            placeholder="Recipient, reason, hash, sender, label or network",
        )
    wanted = notification_filter(queries.context, chosen_network_id(queries.networks), text or "")
    return replace(wanted, state=_STATES[chosen or _ALL])


def _about_hash(queries: PageQueries, tx_hash: TxHash) -> None:
    """Answer for one transaction, whatever else is filtered."""
    wanted = NotificationFilter(tx_hashes=HashRange.of(tx_hash))
    posted = queries.alerts.page(wanted, 1, ROWS)
    if posted:
        notice(*sent_answer(posted))
        return
    if queries.alerts.is_tracked(tx_hash):
        why = "It is tracked; a mail goes out when a rejection of it is seen."
    else:
        why = "It is not tracked, so nobody is told of it."
    notice("empty", "There is no mail about this transaction.", why)


def sent_answer(posted: tuple[NotificationHistory, ...]) -> tuple[str, str, str]:
    """Say of the letters about one transaction whether they were sent: kind, headline, text."""
    waiting = [
        each.notification for each in posted if each.notification.state is NotificationState.PENDING
    ]
    dead = [
        each.notification for each in posted if each.notification.state is NotificationState.DEAD
    ]
    sent = [
        each.notification for each in posted if each.notification.state is NotificationState.SENT
    ]
    said = "; ".join(
        f"to {visible(each.recipient.address, 80)} at {moment(each.sent_at)}"
        for each in sent
        if each.sent_at is not None
    )
    if dead:
        return "bad", f"{len(dead)} of {len(posted)} were given up.", f"Sent {said or 'to nobody'}."
    if waiting:
        return (
            "busy",
            f"{len(waiting)} of {len(posted)} still wait.",
            f"Sent {said or 'to nobody'}.",
        )
    return "calm", "Yes, it was sent:", f"{said}."
