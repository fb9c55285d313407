"""Notifications as a table, open incidents as rows, and what sends dead ones again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.context import ApplicationContext
from dashboard.application.deliveries import (
    DeadSummary,
    NotificationHistory,
    VerificationMail,
    attempts_words,
    reported_words,
    verification_words,
)
from dashboard.application.text import moment, since_when
from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.domain.alerts.notification import DeliveryAttempt, Notification, NotificationState
from dashboard.domain.formatting import counted
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.reasons import name_of, parse_reason
from dashboard.show.parts.acting import Done, act, may
from dashboard.show.parts.badges import badge
from dashboard.show.parts.frame import in_line, section
from dashboard.show.parts.incident_list import INCIDENT
from dashboard.show.parts.table import lookup_link, table
from dashboard.store.alerts.alert_status import OpenIncident
from dashboard.store.alerts.notification_search import DeadNotifications

_COLUMNS: Final = ("Created (UTC)", "What", "To", "State", "Attempts")
_CONDITION_STATES: Final = {
    State.REJECTED: ("bad", "✕", "Rejected"),
    State.BUSY: ("busy", "▲", "Busy"),
    State.CALM: ("calm", "●", "Calm again"),
    State.UNKNOWN: ("stale", "◌", "Unknown"),
    State.STALE: ("stale", "◌", "Stale"),
    State.FRESH: ("calm", "●", "Fresh again"),
    State.SILENT: ("busy", "!", "Silent"),
    State.ANSWERING: ("calm", "●", "Answering again"),
    State.LOW_ON_SPACE: ("bad", "!", "Low on space"),
    State.ENOUGH_SPACE: ("calm", "●", "Enough space again"),
    State.INCLUDED: ("calm", "●", "Included after all"),
    State.NOT_WATCHED: ("stale", "◌", "Not watched"),
    State.WATCHED: ("calm", "●", "Watched again"),
    State.FAILING: ("bad", "!", "Failing"),
    State.DELIVERING: ("calm", "●", "Delivering again"),
    State.BEYOND_LIMITS: ("bad", "▲", "Beyond its limit"),
    State.WITHIN_LIMITS: ("calm", "●", "Within its limit"),
}
_DELIVERY_STATES: Final = {
    NotificationState.SENT: ("calm", "✓", "Sent"),
    NotificationState.PENDING: ("busy", "…", "Pending"),
    NotificationState.DEAD: ("bad", "✕", "Dead"),
    NotificationState.HELD: ("stale", "‖", "Held"),
}
_LONGEST_ANSWER: Final = 200
_LONGEST_ADDRESS: Final = 120
_LATEST_DEAD: Final = 50
_MOST_ADDRESSES: Final = 10
_ONE_BY_ONE: Final = 10
_MOST_LINKED: Final = 3


def notification_table(
    notifications: Sequence[NotificationHistory], network_name: Callable[[NetworkId], str]
) -> Markup:
    """Build the table; times are absolute, so that a refresh changes nothing that stays true."""
    rows = [
        _row(each, network_name(each.notification.transition.subject.network_id))
        for each in notifications
    ]
    return table(_COLUMNS, rows, "Notifications")


def verification_table(mails: Sequence[VerificationMail], now: datetime) -> Markup:
    """Build the table of verification mails, in the same columns."""
    return table(_COLUMNS, [_verification_row(each, now) for each in mails], "Verification mails")


def _verification_row(mail: VerificationMail, now: datetime) -> tuple[Markup | str, ...]:
    known = mail.verification
    return (
        element("time", _short(mail.asked_at), title=moment(mail.asked_at)),
        badge("mute", "·", "Verification mail"),
        breakable(visible(known.recipient.address, _LONGEST_ADDRESS)),
        join(
            badge(*_DELIVERY_STATES[mail.state]),
            element("div", verification_words(known, now), class_="lw-quiet"),
        ),
        element(
            "details",
            element("summary", attempts_words(len(known.deliveries))),
            _attempts(known.deliveries) or element("p", "no answer yet"),
            class_="lw-more",
        ),
    )


def state_badge(state: State) -> Markup:
    """Build the badge of a condition."""
    return badge(*_CONDITION_STATES.get(state, ("mute", "·", state.value.capitalize())))


def about(kind: SubjectKind, network: str) -> str:
    """Say what a condition is about, in words that follow its badge."""
    sides = {
        SubjectKind.FEES: f"fees of {network}",
        SubjectKind.GAS_API: f"gas API of {network}",
        SubjectKind.EXCLUSION_API: f"exclusion API of {network}",
        SubjectKind.DISK: f"disk of {network}",
        SubjectKind.REJECTION_RATE: f"rejections on {network}",
        SubjectKind.FEE_LIMIT: f"fee of {network}",
        SubjectKind.WORKER: f"worker of {network}",
        SubjectKind.DELIVERY: f"notifications of {network}",
        SubjectKind.ADDRESS: f"mail address of {network}",
        SubjectKind.DIGEST: f"about {network}",
        SubjectKind.CREDITS: f"credits of {network}",
        SubjectKind.EXPIRY: f"key or certificate of {network}",
    }
    return sides.get(kind, network)


def _row(history: NotificationHistory, network: str) -> tuple[Markup | str, ...]:
    found = history.notification
    since = element("time", _short(found.created_at), title=moment(found.created_at))
    return (
        since,
        join(_what(found, network), _others(history)),
        breakable(visible(found.recipient.address, _LONGEST_ADDRESS)),
        join(
            badge(*_DELIVERY_STATES[found.state]),
            element("div", history.progress, class_="lw-quiet"),
        ),
        _attempt_log(history),
    )


def _what(notification: Notification, network: str) -> Markup:
    transition = notification.transition
    words = element("span", _subject_in_words(notification, network))
    tx_hash = transition.subject.tx_hash
    link = lookup_link(tx_hash) if tx_hash is not None else Markup()
    return join(element("div", _change_badge(notification), words), link)


def _others(history: NotificationHistory) -> Markup:
    """Say how many changes more it is about, with a link to each of few incidents."""
    others = history.notification.member_count - 1
    if not others:
        return Markup()
    states = ", ".join(history.states) if len(history.states) > 1 else ""
    ids = history.incident_ids
    kind = {0: "", 1: " in incident"}.get(len(ids), " in incidents")
    links = (join(" ", _incident_link(each)) for each in ids[:_MOST_LINKED])
    rest = f" and {len(ids) - _MOST_LINKED:,} others" if len(ids) > _MOST_LINKED else ""
    said = f"and {others:,} more ({states}){kind}" if states else f"and {others:,} more{kind}"
    return element("div", said, *links, rest, class_="lw-quiet")


def _incident_link(incident_id: UUID) -> Markup:
    where = f"alerts?{INCIDENT}={incident_id}"
    return element("a", incident_id.hex[:8], href=where, target="_self", class_="lw-mono")


def _change_badge(notification: Notification) -> Markup:
    """Build the badge of what changed, or of why it is sent though nothing did."""
    transition = notification.transition
    if notification.is_of_changes and transition.before is not transition.after:
        return state_badge(transition.after)
    kind = ("bad", "✕") if notification.is_of_changes else ("mute", "·")
    return badge(*kind, reported_words(notification).capitalize())


def _subject_in_words(notification: Notification, network: str) -> str:
    """Say where it happened, and of a rejection what its reason names."""
    if notification.rejection is None:
        return f" {about(notification.transition.subject.kind, network)}"
    reason = parse_reason(notification.rejection.record.reason_message)
    return f" {name_of((reason.kind, reason.module))}, {network}"


def _attempt_log(history: NotificationHistory) -> Markup:
    """Offer every attempt with its answer, and the identity of the message, behind a fold."""
    outcome = visible(history.notification.outcome, _LONGEST_ANSWER)
    attempts = _attempts(history.attempts) or (element("p", outcome) if outcome else Markup())
    identity = element("p", f"Message-ID {history.notification.message_id}", class_="lw-quiet")
    summary = element("summary", attempts_words(len(history.attempts)))
    return element("details", summary, attempts, identity, class_="lw-more")


def _attempts(attempts: Sequence[DeliveryAttempt]) -> Markup:
    """Build the table of finished attempts, empty where there is none."""
    rows = [_attempt(each) for each in attempts]
    return table(("At (UTC)", "Result", "Answer"), rows, "Attempts") if rows else Markup()


def _attempt(attempt: DeliveryAttempt) -> tuple[str, str, str]:
    return _short(attempt.attempted_at), attempt.result.value, visible(attempt.outcome)


def _short(at: datetime) -> str:
    return f"{at:%d %b %H:%M:%S}"


def incident_row(incident: OpenIncident, context: ApplicationContext, now: datetime) -> Markup:
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


def dead_part(queries: Application) -> None:
    """Show what is dead by address with its last answer, and offer to send it again."""
    dead = queries.alerts.dead(_LATEST_DEAD)
    with st.container(key="card-dead", gap="small"):
        section("Dead", "Correct what the server complained about, then send again.")
        for address, many in list(dead.by_address.items())[:_MOST_ADDRESSES]:
            label = f"Send {many:,} again" if many > 1 else "Send again"
            _dead_row(queries, _Dead(address, _of_address(dead, address, many), label))
        if len(dead.by_address) > _MOST_ADDRESSES:
            words = f"The first {_MOST_ADDRESSES} of {len(dead.by_address):,} addresses are listed."
            st.html(element("p", words, class_="lw-quiet"))
        with st.expander("One by one", key="dead-one-by-one", on_change="rerun") as one_by_one:
            if one_by_one.open:
                for each in dead.latest[:_ONE_BY_ONE]:
                    _dead_row(queries, _Dead(each.notification_id, _of_one(each), "Send again"))


class _Dead(NamedTuple):
    """What can be sent again together, what is said of it, and the button's label."""

    which: DeadNotifications
    said: Markup
    label: str


def _of_address(dead: DeadSummary, address: str, many: int) -> Markup:
    latest = next((each for each in dead.latest if each.recipient.address == address), None)
    head = element(
        "div",
        element("b", breakable(visible(address, _LONGEST_ADDRESS))),
        element("span", f"{many:,} dead", class_="lw-quiet"),
        class_="lw-row",
    )
    return head if latest is None else join(head, _outcome(latest))


def _of_one(notification: Notification) -> Markup:
    subject = notification.transition.subject
    what = f"{notification.transition.after} {subject.tx_hash or subject.kind}"
    to = visible(notification.recipient.address, _LONGEST_ADDRESS)
    words = join(f"{what} of {moment(notification.created_at)} to ", breakable(to))
    return join(element("div", words), _outcome(notification))


def _outcome(notification: Notification) -> Markup:
    return element("div", visible(notification.outcome, _LONGEST_ANSWER), class_="lw-quiet")


def _dead_row(queries: Application, dead: _Dead) -> None:
    with in_line(f"dead-{dead.which}"):
        st.html(dead.said)
        if may(queries, Action.RESEND) and st.button(dead.label, key=f"again-{dead.which}"):
            act(
                lambda by: queries.alerts.send_again(dead.which, by),
                queries,
                "Nothing is sent again.",
                _pending_again,
            )


def _pending_again(many: int) -> Done:
    if not many:
        return Done("Nothing is dead there now, or the address is off: turn it on first")
    pending = counted(many, "notification is", "notifications are")
    return Done(f"{pending} pending again; the worker sends, usually within seconds")
