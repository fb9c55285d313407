"""Notifications as a table, open incidents as rows, and sending dead ones again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.context import ApplicationContext
from dashboard.application.deliveries import (
    DeadSummary,
    NotificationHistory,
    VerificationMail,
    attempts_words,
    further_words,
    reported_words,
    verification_words,
)
from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import Activity, NetworkStatus
from dashboard.application.text import since_when
from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.domain.alerts.notification import (
    DeliveryAttempt,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.domain.formatting import counted, moment
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.reasons import name_of, parse_reason
from dashboard.show.parts.acting import Done, act, may, pressed
from dashboard.show.parts.badges import badge, network_badges
from dashboard.show.parts.frame import card, quiet
from dashboard.show.parts.incident_list import INCIDENT
from dashboard.show.parts.table import entry, entry_markup, list_table, lookup_link
from dashboard.store.alerts.alert_status import OpenIncident
from dashboard.store.alerts.notification_search import DeadNotifications

_CONDITION_STATES: Final = {
    State.REJECTED: ("bad", "✕", "Rejected"),
    State.BUSY: ("busy", "▲", "Busy"),
    State.CALM: ("calm", "●", "Calm again"),
    State.UNKNOWN: ("stale", "◌", "Unknown"),
    State.STALE: ("stale", "◌", "Stale"),
    State.FRESH: ("calm", "●", "Fresh again"),
    State.SILENT: ("busy", "!", "Down"),
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
    State.NO_LINE_LIMITS: ("mute", "○", "No line limits"),
}
_DELIVERY_STATES: Final = {
    NotificationState.SENT: ("calm", "✓", "Sent"),
    NotificationState.PENDING: ("mute", "…", "Pending"),
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

    def what(each: NotificationHistory) -> Markup:
        network = network_name(each.notification.transition.subject.network_id)
        return join(_what(each.notification, network), _others(each))

    listing: Listing[NotificationHistory] = Listing(
        "notifications",
        (
            Column("Created (UTC)", lambda each: _time(each.notification.created_at)),
            Column("What", what),
            Column("To", lambda each: _address(each.notification.recipient)),
            Column("State", lambda each: _state(each.notification.state, each.progress)),
            Column("Attempts", _attempt_log),
        ),
    )
    return list_table(listing, notifications, "Notifications")


def verification_table(mails: Sequence[VerificationMail], now: datetime) -> Markup:
    """Build the table of verification mails, in the same columns."""
    listing: Listing[VerificationMail] = Listing(
        "mails",
        (
            Column("Created (UTC)", lambda each: _time(each.asked_at)),
            Column("What", lambda _: badge("mute", "·", "Verification mail")),
            Column("To", lambda each: _address(each.verification.recipient)),
            Column(
                "State",
                lambda each: _state(each.state, verification_words(each.verification, now)),
            ),
            Column("Attempts", _verification_log),
        ),
    )
    return list_table(listing, mails, "Verification mails")


def _time(at: datetime) -> Markup:
    return element("time", _short(at), title=moment(at))


def _address(recipient: Recipient) -> Markup:
    return breakable(visible(recipient.address, _LONGEST_ADDRESS))


def _state(state: NotificationState, progress: str) -> Markup:
    return join(badge(*_DELIVERY_STATES[state]), element("div", progress, class_="lw-quiet"))


def state_badge(state: State) -> Markup:
    return badge(*_CONDITION_STATES.get(state, ("mute", "·", state.value.capitalize())))


def about(kind: SubjectKind, network: str) -> str:
    """Describe the subject of a condition, in words that follow its badge."""
    sides = {
        SubjectKind.FEES: f"fees of {network}",
        SubjectKind.GAS_API: f"fee source of {network}",
        SubjectKind.EXCLUSION_API: f"exclusion API of {network}",
        SubjectKind.LINE_LIMITS: f"on {network}",
        SubjectKind.DISK: f"disk of {network}",
        SubjectKind.REJECTION_RATE: f"rejections on {network}",
        SubjectKind.FEE_LIMIT: f"fee of {network}",
        SubjectKind.WORKER: f"worker of {network}",
        SubjectKind.DELIVERY: f"notifications of {network}",
        SubjectKind.ADDRESS: f"email address of {network}",
        SubjectKind.DIGEST: f"about {network}",
        SubjectKind.CREDITS: f"credits of {network}",
        SubjectKind.EXPIRY: f"key or certificate of {network}",
    }
    return sides.get(kind, network)


def _what(notification: Notification, network: str) -> Markup:
    transition = notification.transition
    words = element("span", _subject_in_words(notification, network))
    tx_hash = transition.subject.tx_hash
    link = lookup_link(tx_hash) if tx_hash is not None else Markup()
    return join(element("div", _change_badge(notification), words), link)


def _others(history: NotificationHistory) -> Markup:
    """Say how many further changes it is about, with a link to each of few incidents."""
    if history.notification.member_count == 1:
        return Markup()
    ids = history.incident_ids
    kind = {0: "", 1: "in incident"}.get(len(ids), "in incidents")
    links = (join(" ", _incident_link(each)) for each in ids[:_MOST_LINKED])
    left = len(ids) - _MOST_LINKED
    rest = f" and {counted(left, 'other')}" if left > 0 else ""
    said = f"{further_words(history)} {kind}".strip()
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
    """Say where it happened, and for a rejection what its reason names."""
    if notification.rejection is None:
        return f" {about(notification.transition.subject.kind, network)}"
    reason = parse_reason(notification.rejection.record.reason_message)
    return f" {name_of((reason.kind, reason.module))}, {network}"


def _attempt_log(history: NotificationHistory) -> Markup:
    """Offer every attempt with its answer, and the identity of the message, folded."""
    outcome = visible(history.notification.outcome, _LONGEST_ANSWER)
    without = element("p", outcome) if outcome else Markup()
    identity = element("p", f"Message-ID {history.notification.message_id}", class_="lw-quiet")
    return _folded(history.attempts, without, identity)


def _verification_log(mail: VerificationMail) -> Markup:
    return _folded(mail.verification.deliveries, element("p", "no answer yet"))


def _folded(attempts: Sequence[DeliveryAttempt], without: Markup, *more: Markup) -> Markup:
    """Fold a table of finished attempts; `without` is shown if there are none."""
    summary = element("summary", attempts_words(len(attempts)))
    shown = list_table(_ATTEMPTS, attempts, "Attempts") if attempts else without
    return element("details", summary, shown, *more, class_="lw-more")


def _short(at: datetime) -> str:
    return f"{at:%d %b %H:%M:%S}"


_ATTEMPTS: Final[Listing[DeliveryAttempt]] = Listing(
    "attempts",
    (
        Column("At (UTC)", lambda each: _short(each.attempted_at)),
        Column("Result", lambda each: each.result.value),
        Column("Answer", lambda each: visible(each.outcome)),
    ),
)


def incident_row(
    incident: OpenIncident,
    context: ApplicationContext,
    now: datetime,
    status: NetworkStatus | None = None,
) -> Markup:
    """Draw a condition; if a network's fees are stale, say that it was busy when last seen."""
    subject = incident.subject
    name = about(subject.kind, context.network_name(subject.network_id))
    if incident.state is State.BUSY and status is not None and status.activity is Activity.STALE:
        said = element("span", f"{name}: {status.activity_reason}")
        return element("div", network_badges(status), said, class_="lw-row")
    since = since_when(incident.as_condition(), context.rule_of(subject), now)
    return element(
        "div",
        state_badge(incident.state),
        element("span", name),
        element("span", since, class_="lw-end"),
        class_="lw-row",
    )


def dead_part(queries: Application) -> None:
    """Show dead notifications by address with the last answer, and offer to send them again."""
    dead = queries.alerts.dead(_LATEST_DEAD)
    with card("dead", "Dead", "Correct the cause, then send again."):
        for address, many in list(dead.by_address.items())[:_MOST_ADDRESSES]:
            label = f"Send {many:,} again" if many > 1 else "Send again"
            _dead_row(queries, address, _of_address(dead, address, many), label)
        if len(dead.by_address) > _MOST_ADDRESSES:
            words = f"The first {_MOST_ADDRESSES} of {len(dead.by_address):,} addresses are listed."
            quiet(words)
        with st.expander("One by one", key="dead-one-by-one", on_change="rerun") as one_by_one:
            if one_by_one.open:
                for each in dead.latest[:_ONE_BY_ONE]:
                    _dead_row(queries, each.notification_id, _of_one(each), "Send again")


def _of_address(dead: DeadSummary, address: str, many: int) -> Markup:
    latest = next((each for each in dead.latest if each.recipient.address == address), None)
    outcome = "" if latest is None else _outcome(latest)
    title = breakable(visible(address, _LONGEST_ADDRESS))
    return entry_markup(Markup(), title, f"{many:,} dead", outcome)


def _of_one(notification: Notification) -> Markup:
    subject = notification.transition.subject
    what = f"{notification.transition.after.word} {subject.tx_hash or subject.kind}"
    to = visible(notification.recipient.address, _LONGEST_ADDRESS)
    title = join(f"{what} of {moment(notification.created_at)} to ", breakable(to))
    return entry_markup(Markup(), title, _outcome(notification))


def _outcome(notification: Notification) -> str:
    return visible(notification.outcome, _LONGEST_ANSWER)


def _dead_row(queries: Application, which: DeadNotifications, said: Markup, label: str) -> None:
    with entry(f"dead-{which}", said):
        key = f"again-{which}"
        if may(queries, Action.RESEND) and pressed(queries, label, key):
            _send_again(queries, [which], key)


def send_all_again(queries: Application) -> None:
    key = "again-all"
    if may(queries, Action.RESEND) and pressed(queries, "Send again", key):
        _send_again(queries, list(queries.alerts.dead(0).by_address), key)


def _send_again(queries: Application, which: Sequence[DeadNotifications], button: str) -> None:
    ask = queries.alerts

    def done(sent: Sequence[UUID]) -> Done:
        if not sent:
            return Done("No dead notifications there now, or the address is off: turn it on")
        pending = counted(len(sent), "notification is", "notifications are")
        said = f"{pending} pending again; the worker sends, usually within seconds"
        return Done(said, partial(ask.stop_sending, sent))

    def change(by: Actor) -> list[UUID]:
        return [sent for each in which for sent in ask.send_again(each, by)]

    act(queries, change, done, failed="Nothing is sent again.", button=button)
