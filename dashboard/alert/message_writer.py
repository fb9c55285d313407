"""Writes the messages of notifications, with what the store knows of their changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Final

from dashboard.alert.compose import MessageFacts, MessageTemplates, compose, opened_at
from dashboard.alert.gathered_text import compose_gathered
from dashboard.alert.message import Message
from dashboard.domain.busy_context import BusyContext
from dashboard.domain.condition import State
from dashboard.domain.formatting import moment
from dashboard.domain.grounds import FeeGrounds
from dashboard.domain.notification import (
    FIRST_MEMBERS,
    Notification,
    NotificationKind,
    NotificationMember,
)
from dashboard.domain.notified_change import NotifiedChange
from dashboard.errors import DeliveryDeferred, StoreError
from dashboard.store.alerts.incidents import incident_events_of
from dashboard.store.alerts.members import all_members
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.busy_context import read_busy_context
from dashboard.store.evidence.notified_changes import with_labels, with_previous
from dashboard.store.gas import latest_fees

_PORTION: Final = 500
_LATEST: Final = timedelta(minutes=10)
"""Suggested fees that are older say nothing of now."""


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Reads from the store what a message says beside its notification; used by many threads."""

    store: Store
    templates: MessageTemplates

    def write(self, notification: Notification) -> Message:
        """Write the message; DeliveryDeferred where the store cannot be read now."""
        since = opened_at(notification)
        change = NotifiedChange(notification.transition, notification.rejection, since)
        try:
            if notification.is_gathered:
                return compose_gathered(notification, self.templates, self._changes(notification))
            with self.store.read() as connection:
                [known] = with_labels(connection, [change])
                closed = _closed(connection, notification)
                busy = None if closed else _busy(connection, known)
                facts = MessageFacts(with_previous(connection, known), busy, closed)
        except StoreError as error:
            raise DeliveryDeferred(f"the message cannot be written: {error}") from error
        return _repeated(notification, compose(notification, self.templates, facts))

    def _changes(self, notification: Notification) -> Iterator[NotifiedChange]:
        """Read every change in the order of events, some hundred at a time; raises StoreError.

        Those that the text names come with the record before, all with their labels.
        """
        members = all_members(self.store, notification.notification_id)
        named = FIRST_MEMBERS
        while part := [_change_of(each) for each in islice(members, _PORTION)]:
            with self.store.read() as connection:
                known = with_labels(connection, part)
                known[:named] = [with_previous(connection, each) for each in known[:named]]
            named = 0
            yield from known


def _change_of(member: NotificationMember) -> NotifiedChange:
    since = None if member.opening is None else member.opening.opened_at
    return NotifiedChange(member.transition, member.rejection, since)


def _repeated(notification: Notification, message: Message) -> Message:
    """Say of a repeated notification that it is one, and why it comes."""
    if notification.kind in {NotificationKind.CHANGE, NotificationKind.CLOSED}:
        return message
    incident = notification.incident
    since = "" if incident is None else f" since {moment(incident.opened_at)}"
    what = str(notification.kind).capitalize()
    said = f"{what}: this lasts{since}, and nobody has acknowledged it."
    return replace(message, subject=f"{what}: {message.subject}", text=f"{said}\n\n{message.text}")


def _closed(connection: Connection, notification: Notification) -> str:
    """Return by whom an incident was closed and why, where that is what is notified."""
    incident = notification.incident
    if notification.kind is not NotificationKind.CLOSED or incident is None:
        return ""
    key = incident.incident_id
    last = incident_events_of(connection, {key})[key][-1]
    return f"{last.kind} by {last.actor}: {last.note}"


def _busy(connection: Connection, change: NotifiedChange) -> BusyContext | None:
    """Read what surrounds a network that became busy; None for any other change."""
    transition, grounds = change.transition, change.transition.grounds
    if transition.after is not State.BUSY or not isinstance(grounds, FeeGrounds):
        return None
    network_id, at = transition.subject.network_id, transition.at
    context = read_busy_context(connection, network_id, grounds, at)
    latest = latest_fees(connection, network_id, at)
    if latest is None or at - latest.asked_at > _LATEST:
        return context
    return replace(context, suggested=latest.value, suggested_at=latest.asked_at)
