"""Notifications as a table, open incidents as rows, and the form that sends again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.domain.condition import State, SubjectKind, Transition
from dashboard.domain.foreign_text import visible
from dashboard.domain.notification import Delivery, Notification, NotificationState
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason import parse_reason
from dashboard.domain.reason_names import name_of
from dashboard.errors import StoreError
from dashboard.show.parts.badges import badge
from dashboard.show.parts.heading import section
from dashboard.show.parts.markup import Markup, breakable, element, join
from dashboard.show.parts.notices import notice
from dashboard.show.parts.table import lookup_link, table
from dashboard.show.queries.alerts import DeadSummary, NotificationHistory
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment, since_when
from dashboard.store.alerts.alert_status import OpenIncident
from dashboard.store.alerts.held_notifications import DeadNotifications

_COLUMNS: Final = ("Since (UTC)", "What", "To", "Was it sent?", "Answer")
_STATES: Final = {
    State.REJECTED: ("bad", "✕", "Rejected"),
    State.BUSY: ("busy", "▲", "Busy"),
    State.CALM: ("calm", "●", "Calm again"),
    State.STALE: ("stale", "◌", "Stale"),
    State.FRESH: ("calm", "●", "Fresh again"),
    State.SILENT: ("busy", "!", "Silent"),
    State.ANSWERING: ("calm", "●", "Answering again"),
    State.LOW_ON_SPACE: ("bad", "!", "Low on space"),
    State.ROOMY: ("calm", "●", "Room again"),
}
_POST: Final = {
    NotificationState.SENT: ("calm", "✓", "Sent"),
    NotificationState.PENDING: ("busy", "…", "Waiting"),
    NotificationState.DEAD: ("bad", "✕", "Given up"),
    NotificationState.HELD: ("stale", "‖", "Held"),
}
_LONGEST_ANSWER: Final = 200
_LONGEST_ADDRESS: Final = 120


def notification_table(
    notifications: Sequence[NotificationHistory], network_name: Callable[[NetworkId], str]
) -> Markup:
    """Build the table; times are absolute, so that a refresh changes nothing that stays true."""
    rows = [
        _row(each, network_name(each.notification.transition.subject.network_id))
        for each in notifications
    ]
    return table(_COLUMNS, rows, "Mails")


def state_badge(state: State) -> Markup:
    """Build the badge of a condition."""
    return badge(*_STATES.get(state, ("mute", "·", state.value.capitalize())))


def about(kind: SubjectKind, network: str) -> str:
    """Say what a condition is about, in words that follow its badge."""
    sides = {
        SubjectKind.FEES: f"fees of {network}",
        SubjectKind.GAS_API: f"gas API of {network}",
        SubjectKind.EXCLUSION_API: f"exclusion API of {network}",
        SubjectKind.DISK: f"disk of {network}",
    }
    return sides.get(kind, network)


def _row(posted: NotificationHistory, network: str) -> tuple[Markup | str, ...]:
    notice = posted.notification
    pending = element(
        "time", f"{notice.created_at:%d %b %H:%M:%S}", title=moment(notice.created_at)
    )
    return (
        pending,
        _what(notice, network),
        breakable(visible(notice.recipient.address, _LONGEST_ADDRESS)),
        join(badge(*_POST[notice.state]), element("div", _when(notice), class_="lw-quiet")),
        join(_answer(notice), _log(posted)),
    )


def _what(notice: Notification, network: str) -> Markup:
    transition = notice.transition
    head = element("div", _news(transition), element("span", _side(notice, network)))
    tx_hash = transition.subject.tx_hash
    return join(head, lookup_link(tx_hash) if tx_hash is not None else Markup())


def _news(transition: Transition) -> Markup:
    if transition.before is transition.after:
        return badge("bad", "✕", "Record changed")
    return state_badge(transition.after)


def _side(notice: Notification, network: str) -> str:
    """Say where it happened, and of a rejection what its reason names."""
    said = f" {about(notice.transition.subject.kind, network)}"
    if notice.rejection is None:
        return said
    reason = parse_reason(notice.rejection.record.reason_message)
    return f" {name_of((reason.kind, reason.module))}, {network}"


def _when(notice: Notification) -> str:
    if notice.state is NotificationState.SENT:
        return "" if notice.sent_at is None else _short(notice.sent_at)
    if notice.state is NotificationState.DEAD:
        return f"after {_attempts(notice.attempts)}"
    if notice.state is NotificationState.HELD:
        return "since a restore"
    if not notice.attempts:
        return "for its first attempt"
    next_at = (
        ""
        if notice.next_attempt_at is None
        else f", next not before {_short(notice.next_attempt_at)}"
    )
    return f"{_attempts(notice.attempts)}{next_at}"


def _answer(notice: Notification) -> Markup:
    words = visible(notice.outcome, _LONGEST_ANSWER)
    return element("div", words or "none yet", class_=None if words else "lw-quiet")


def _log(posted: NotificationHistory) -> Markup:
    """Offer every attempt with its answer, and the identity of the letter."""
    rows = [_attempt(each) for each in posted.attempts]
    attempts = table(("At (UTC)", "Result", "Answer"), rows, "Attempts") if rows else Markup()
    identity = element("p", f"Message-ID {posted.notification.message_id}", class_="lw-quiet")
    summary = element("summary", _attempts(len(rows)))
    return element("details", summary, attempts, identity, class_="lw-more")


def _attempt(attempt: Delivery) -> tuple[str, str, str]:
    return _short(attempt.attempted_at), attempt.result.value, visible(attempt.outcome)


def _attempts(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"


def _short(at: datetime) -> str:
    return f"{at:%d %b %H:%M:%S}"


def incident_row(incident: OpenIncident, context: QueryContext, now: datetime) -> Markup:
    """Build the row."""
    subject = incident.subject
    since = since_when(incident.as_condition(), context.rule_of(subject), now)
    return element(
        "div",
        state_badge(incident.state),
        element("span", about(subject.kind, context.network_name(subject.network_id))),
        element("span", since, class_="lw-end"),
        class_="lw-row",
    )


_LATEST = 50
_LONGEST_CHOICE = 80


def resend_form(queries: PageQueries) -> None:
    """Show what may be sent again, and do it."""
    given_up = queries.alerts.given_up(_LATEST)
    choices = _choices(given_up)
    with st.container(key="card-resend", gap="small"):
        section("Given up", "Put right what the mail server complained of, then send again.")
        with st.form("resend", border=False):
            chosen = st.selectbox(
                "What to send again", tuple(choices), format_func=lambda each: choices[each]
            )
            is_pressed = st.form_submit_button("Send again", type="primary")
        if is_pressed and chosen is not None:
            _send_again(queries, chosen)


def _choices(given_up: DeadSummary) -> dict[DeadNotifications, str]:
    """Name each choice: first all to an address, then the latest one by one."""
    by_address: dict[DeadNotifications, str] = {
        address: f"All {count:,} to {visible(address, _LONGEST_CHOICE)}"
        for address, count in given_up.by_address.items()
    }
    return by_address | {each.notification_id: _named(each) for each in given_up.latest}


def _named(letter: Notification) -> str:
    subject = letter.transition.subject
    what = f"{letter.transition.after} {subject.tx_hash or subject.kind}"
    to = visible(letter.recipient.address, _LONGEST_CHOICE)
    return f"{what} of {moment(letter.created_at)} to {to}"


def _send_again(queries: PageQueries, which: DeadNotifications) -> None:
    try:
        many = queries.alerts.send_again(which)
    except StoreError as trouble:
        notice("bad", "Nothing is sent again.", f"{trouble} Try again in a moment.")
        return
    waits = "1 mail waits" if many == 1 else f"{many:,} mails wait"
    notice("calm", f"{waits} again.", "The worker sends what waits, usually within seconds.")
