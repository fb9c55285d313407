"""Notifications and their deliveries: their states, what they report, and how to resend them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.application.text import moment_near
from dashboard.domain.alerts.closing_plan import expected_at
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.hourly_cap import HourlyCap, RecipientTraffic
from dashboard.domain.alerts.notification import DeliveryAttempt, Notification, NotificationState
from dashboard.domain.formatting import counted
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.verification import Verification, mail_state
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.search import parse_search
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.alert_status import (
    NotificationCounts,
    OpenIncident,
    notification_counts,
    open_incidents,
)
from dashboard.store.alerts.closings import open_notifications, traffic_to
from dashboard.store.alerts.incident_list import incidents_beginning
from dashboard.store.alerts.notification_search import (
    DeadNotifications,
    NotificationFilter,
    count_dead_by_address,
    count_notifications,
    resend,
    search_notifications,
    stop_sending,
)
from dashboard.store.alerts.notifications import deliveries_by_notification, incidents_of, states_of
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.engine.connection import Connection

COUNTED: Final = timedelta(days=30)
"""How far back notifications are counted."""

_SHARED_FOR: Final = timedelta(seconds=2)
_INCIDENT: Final = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
"""The id of an incident, or its beginning."""

_LONGEST_REASON: Final = 300


class DeadSummary(Struct, frozen=True):
    """The dead notifications of the counted time: how many by address, and the latest."""

    by_address: dict[str, int]
    latest: tuple[Notification, ...]


class NotificationHistory(Struct, frozen=True):
    """A notification with every finished delivery attempt, oldest first.

    `progress` says when it was sent or what it waits for, empty if its state says all;
    `incident_ids` are its incidents, and `states` the states that it reports if it is grouped.
    """

    notification: Notification
    attempts: tuple[DeliveryAttempt, ...]
    progress: str = ""
    incident_ids: tuple[UUID, ...] = ()
    states: tuple[str, ...] = ()


class VerificationMail(Struct, frozen=True):
    """The latest verification mail to an address: when it was requested, and its state."""

    verification: Verification
    asked_at: datetime
    state: NotificationState


def notification_filter(
    context: ApplicationContext, network_id: NetworkId | None, text: str
) -> NotificationFilter:
    """Parse what a person types to find notifications, of one network or all."""
    if _INCIDENT.fullmatch(text.strip().lower()):
        with context.store.read() as connection:
            beginning = incidents_beginning(connection, text.strip().lower().replace("-", ""))
        if len(beginning) == 1:
            return NotificationFilter(network_id, incident_id=beginning[0].incident_id)
    found = parse_search(text)
    network_id, words = context.search_scope(network_id, "" if found.named else text.strip())
    named = None if found.tx_hashes else found.named
    return NotificationFilter(network_id, tx_hashes=found.tx_hashes, search=words, beginning=named)


class Notifications(ApplicationSubject):
    @shared_for(_SHARED_FOR, until_write=True)
    def counts(self) -> NotificationCounts:
        """Count what is pending and held now, and what was sent or died in the last 30 days."""
        with self._context.store.read_recent() as connection:
            return notification_counts(connection, self._context.now() - COUNTED)

    def open(self) -> tuple[OpenIncident, ...]:
        """Return the open incidents of networks, oldest first."""
        with self._context.store.read_recent() as connection:
            return tuple(open_incidents(connection))

    def count(self, wanted: NotificationFilter) -> int:
        with self._context.store.read_recent() as connection:
            return count_notifications(connection, wanted)

    def page(
        self,
        wanted: NotificationFilter,
        number: int,
        rows: int,
        before: tuple[datetime, UUID] | None = None,
    ) -> tuple[NotificationHistory, ...]:
        """Return one page of matching notifications, counted from 1, the latest first.

        `before` is the moment and the id of a notification that the first page must precede.
        """
        with self._context.store.read_recent() as connection:
            found = search_notifications(connection, wanted, rows, (number - 1) * rows, before)
            ids = [each.notification_id for each in found]
            attempts = deliveries_by_notification(connection, ids)
            incidents = incidents_of(connection, ids)
            grouped = [each.notification_id for each in found if each.is_grouped]
            states = states_of(connection, grouped)
            progress = self._progress(connection, found)
        return tuple(
            NotificationHistory(
                each,
                tuple(attempts[each.notification_id]),
                words,
                tuple(incidents.get(each.notification_id, ())),
                tuple(states.get(each.notification_id, ())),
            )
            for each, words in zip(found, progress, strict=True)
        )

    def verification_mails(self, wanted: NotificationFilter) -> tuple[VerificationMail, ...]:
        """Return the latest verification mail to each matching address, the latest first.

        They are not about changes, so a search for changes finds none.
        """
        if wanted.tx_hashes or wanted.beginning or wanted.incident_id or wanted.after:
            return ()
        now, words = self._context.now(), wanted.search.lower()
        with self._context.store.read() as connection:
            known = read_directory(connection, self._context.settings.recipients).verifications
        found = [
            VerificationMail(each, each.requested_at, mail_state(each, now))
            for each in known.values()
            if each.requested_at is not None and words in each.recipient.address.lower()
        ]
        asked = [
            each
            for each in found
            if wanted.state in {None, each.state}
            and (wanted.since is None or each.asked_at >= wanted.since)
            and (wanted.until is None or each.asked_at <= wanted.until)
        ]
        return tuple(sorted(asked, key=lambda each: each.asked_at, reverse=True))

    def _progress(self, connection: Connection, found: Sequence[Notification]) -> list[str]:
        """Say what each notification waits for."""
        now, settings = self._context.now(), self._context.settings
        cap = settings.hourly_cap
        recipients = {each.recipient for each in found if _is_open(each) and _is_due(each, now)}
        traffic = {to: traffic_to(connection, to, now) for to in recipients}
        due = open_notifications(connection) if recipients else []
        expected: dict[UUID, datetime] = {}
        for to in recipients:
            of_recipient = [each for each in due if each.recipient == to and each.release_at <= now]
            expected |= expected_at(of_recipient, traffic[to], now, cap.of(to))
        return [
            progress_words(
                each, now, cap, traffic.get(each.recipient), expected.get(each.notification_id)
            )
            for each in found
        ]

    def dead(self, limit: int) -> DeadSummary:
        """Count dead notifications by address, and return the latest, at most `limit`."""
        since = self._context.now() - COUNTED
        wanted = NotificationFilter(state=NotificationState.DEAD, since=since)
        with self._context.store.read_recent() as connection:
            latest = search_notifications(connection, wanted, limit)
            return DeadSummary(count_dead_by_address(connection, since), tuple(latest))

    def send_again(self, which: DeadNotifications, by: Actor) -> list[UUID]:
        """Make dead notifications pending again, on record; return their ids."""
        by.require(Action.RESEND)
        with self._context.store.write() as connection:
            sent = resend(connection, which, by.at)
            if sent:
                details = {"notifications": len(sent)}
                note_action(connection, by, Action.RESEND, str(which), details)
        return sent

    def stop_sending(self, sent: Sequence[UUID], by: Actor) -> int:
        """Undo that for notifications that were not tried since, on record; return how many.

        InputError if all of them were tried meanwhile.
        """
        by.require(Action.RESEND)
        with self._context.store.write() as connection:
            many = stop_sending(connection, sent, by.at)
            if not many:
                raise InputError("they were sent or tried meanwhile: nothing can be taken back")
            note_action(connection, by, Action.RESEND, "undone", {"notifications": many})
        return many


def progress_words(
    notification: Notification,
    now: datetime,
    cap: HourlyCap,
    traffic: RecipientTraffic | None,
    turn_at: datetime | None,
) -> str:
    """Say when it was sent, or what it waits for; empty if its state says all.

    `traffic` is that of its recipient, None while it still takes in changes. `turn_at` is when
    it is sent if nothing else is added, None if that is unknown.
    """
    match notification.state:
        case NotificationState.SENT:
            sent_at = notification.sent_at
            return "" if sent_at is None else moment_near(sent_at, now)
        case NotificationState.DEAD:
            return f"after {attempts_words(notification.attempts)}"
        case NotificationState.HELD:
            return "since a restore"
        case NotificationState.PENDING:
            return _pending_words(notification, now, cap, traffic, turn_at)


def reported_words(notification: Notification) -> str:
    """Say in short what it reports first: a change, or why it is sent without one."""
    transition = notification.transition
    if not notification.is_of_changes:
        return str(notification.kind)
    return "record changed" if transition.before is transition.after else transition.after.word


def reported_states(history: NotificationHistory) -> list[str]:
    """Return the states that it reports, in order; empty if it reports no change."""
    if not history.notification.is_of_changes:
        return []
    return list(history.states or [str(history.notification.transition.after)])


def further_words(history: NotificationHistory) -> str:
    """Count the changes after its first, and name all their states; empty if there are none."""
    if not history.notification.is_grouped:
        return ""
    words = ", ".join(State(each).word for each in history.states)
    states = f" ({words})" if len(history.states) > 1 else ""
    return f"and {history.notification.member_count - 1:,} more{states}"


def verification_words(verification: Verification, now: datetime) -> str:
    """Say when a verification mail was sent, or what it waits for and after how many attempts."""
    attempts = attempts_words(verification.attempts)
    if verification.sent_at is not None:
        return moment_near(verification.sent_at, now)
    if mail_state(verification, now) is NotificationState.DEAD:
        return f"after {attempts}"
    next_at = verification.next_attempt_at
    if not verification.attempts or next_at is None:
        return "not tried yet"
    return f"{attempts}, next not before {moment_near(next_at, now)}"


def notifications_are(many: int) -> str:
    return counted(many, "notification is", "notifications are")


def pending_changes_words(counts: NotificationCounts) -> str:
    """Say how many changes have not become notifications yet; empty for none."""
    many = counts.pending_changes
    changes = counted(many, "change is", "changes are")
    them = "it" if many == 1 else "them"
    return f"{changes} pending: the worker turns {them} into notifications." if many else ""


def attempts_words(count: int) -> str:
    return counted(count, "attempt")


def _pending_words(
    notification: Notification,
    now: datetime,
    cap: HourlyCap,
    traffic: RecipientTraffic | None,
    turn_at: datetime | None,
) -> str:
    due_at = notification.next_attempt_at
    if notification.attempts:
        next_one = "" if due_at is None else f", next not before {moment_near(due_at, now)}"
        return f"{attempts_words(notification.attempts)}{next_one}"
    release_at = notification.release_at
    if _is_open(notification) and release_at is not None and release_at > now:
        until = moment_near(release_at, now)
        why = visible(notification.held_for, _LONGEST_REASON)
        return f"held until {until} ({why})" if why else f"groups changes until {until}"
    if traffic is not None and traffic.waiting:
        return "waits until earlier ones are delivered"
    if turn_at is not None and turn_at > now:
        most = f"at most {cap.largest_hourly:,} an hour, spread over it"
        return f"waits for its turn until {moment_near(turn_at, now)} ({most})"
    return "not tried yet"


def _is_open(notification: Notification) -> bool:
    """Whether it may still take in changes: it is not closed, and was never tried."""
    is_pending = notification.state is NotificationState.PENDING
    return is_pending and notification.closed_at is None and not notification.attempts


def _is_due(notification: Notification, now: datetime) -> bool:
    return notification.release_at is None or notification.release_at <= now
