"""Notifications about an incident itself: reminders, escalations, and what people did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from msgspec import Struct
from sqlalchemy import (
    Connection,
    RowMapping,
    delete,
    false,
    func,
    or_,
    select,
    update,
)

from dashboard.domain.alerts.holding import RuleRoute, route_for
from dashboard.domain.alerts.hourly_cap import precedence_of_kind
from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    NotifiedChange,
)
from dashboard.domain.alerts.notification import (
    NO_DOMAIN,
    Notification,
    NotificationKind,
    NotificationState,
    Recipient,
)
from dashboard.domain.alerts.silence import SILENCED
from dashboard.domain.people.recipients import RecipientDirectory, mailbox_of, one_of_each
from dashboard.store.alerts.growing_notifications import held_with_earlier
from dashboard.store.alerts.incidents import incident_events_of, incidents_by_id
from dashboard.store.alerts.notifications import (
    incidents_of,
    member_of,
    member_row,
    select_transitions,
    waiting_row,
)
from dashboard.store.alerts.recipients import is_to, recipients_in
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import (
    incident_transitions,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    transitions,
)

_FOR_PEOPLE: Final = {
    NotificationKind.REMINDER,
    NotificationKind.ACKNOWLEDGED,
    NotificationKind.UNACKNOWLEDGED,
    NotificationKind.HANDED_OVER,
}
"""What an Alertmanager is not sent: its alert keeps firing, and it repeats that by itself."""

_EVENTS: Final = {
    NotificationKind.ACKNOWLEDGED: IncidentEventKind.ACKNOWLEDGED,
    NotificationKind.HANDED_OVER: IncidentEventKind.HANDED_OVER,
    NotificationKind.UNACKNOWLEDGED: IncidentEventKind.UNACKNOWLEDGED,
    NotificationKind.RESOLVED: IncidentEventKind.RESOLVED,
    NotificationKind.CLOSED: IncidentEventKind.RESOLVED,
}
"""The event of a person that a kind of notification reports."""


_ENDS: Final = {NotificationKind.CLOSED, NotificationKind.RESOLVED}
"""What nobody is told of an incident before its first message."""


class Repetition(Struct, frozen=True):
    """Why and when an incident is notified again.

    `route` says what holds it, and whether it ignores quiet hours. `domain` is that of Message-IDs.
    Whoever got a message about the incident within `least_apart` is not reminded.
    """

    kind: NotificationKind
    now: datetime
    route: RuleRoute
    directory: RecipientDirectory
    domain: str = NO_DOMAIN
    least_apart: timedelta = timedelta()

    def concerns(self, recipient: Recipient) -> bool:
        is_person = recipient.channel not in self.directory.configured.alertmanagers
        return is_person or self.kind not in _FOR_PEOPLE


def repeat(
    connection: Connection,
    incident: Incident,
    repetition: Repetition,
    recipients: Iterable[Recipient],
    beside: Sequence[Incident] = (),
) -> list[Recipient]:
    """Notify of an incident again, at its last change, and of those `beside` it as well.

    If a recipient gets nothing, the reason is stored. A reminder goes only to those to whom that
    change was sent, unless a reminder of the incident waits for them or they got a message about it
    just now. A repetition is notified once: its id follows from the incident and its version.
    Return the recipients.
    """
    last = _last_transition(connection, incident.incident_id)
    if last is None:
        return []
    notified = []
    is_reminder = repetition.kind is NotificationKind.REMINDER
    informed = set[Recipient]()
    if is_reminder:
        informed = set(map(mailbox_of, _informed_of(connection, last["transition_id"])))
        informed -= set(map(mailbox_of, _reminded_enough(connection, incident, repetition)))
    shared = {
        "transition_id": last["transition_id"],
        # It follows all that happened so far.
        "position": connection.scalar(select(func.max(outbox.c.outbox_id))),
        "kind": repetition.kind,
        "precedence": precedence_of_kind(repetition.kind, incident.severity),
    }
    for each in one_of_each(filter(repetition.concerns, recipients)):
        if reason := repetition.directory.withheld(each):
            for about in (incident, *beside):
                _withhold(connection, about, each, reason)
            continue
        if is_reminder and mailbox_of(each) not in informed:
            continue
        notified.append(each)
        row = shared | _repeated_to(connection, incident, repetition, each)
        if insert_new(connection, notifications, row):
            of = {"notification_id": row["notification_id"]}
            of["is_escalation"] = repetition.kind is NotificationKind.ESCALATION
            for about in (incident, *beside):
                insert_new(
                    connection, notification_incidents, of | {"incident_id": about.incident_id}
                )
    return notified


def _repeated_to(
    connection: Connection, incident: Incident, repetition: Repetition, recipient: Recipient
) -> dict[str, Any]:
    route = route_for(recipient, repetition.route, repetition.directory, repetition.now)
    about = incident.incident_id, recipient
    if repetition.kind in _ENDS and not _has_heard(connection, *about):
        route = held_with_earlier(connection, *about, route, repetition.now)
    number = f"{repetition.kind}:{incident.version}:{recipient.channel}:{recipient.address}"
    notification_id = uuid5(incident.incident_id, number)
    row = waiting_row(
        *(connection, notification_id, recipient, repetition.domain),
        now=repetition.now,
        release_at=route.held_until or repetition.now,
    )
    is_urgent = route.is_urgent and repetition.kind is NotificationKind.ESCALATION
    held = {"held_for": route.held_for, "held_by": route.held_by}
    return row | held | {"is_urgent": is_urgent, "members": 0}


def _has_heard(connection: Connection, incident_id: UUID, recipient: Recipient) -> bool:
    """Whether any message about an incident was sent to a recipient."""
    column, pair = notifications.c, notification_incidents.c
    sent = (
        select(column.notification_id)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incident_id, is_to(recipient))
        .where(column.state == NotificationState.SENT)
    )
    return connection.scalar(sent.limit(1)) is not None


def _informed_of(connection: Connection, transition_id: UUID) -> set[Recipient]:
    """Return the recipients to whom a change was sent."""
    column, member = notifications.c, notification_members.c
    query = (
        select(column.channel, column.address)
        .join(notification_members, member.notification_id == column.notification_id)
        .where(member.transition_id == transition_id, column.state == NotificationState.SENT)
    )
    return set(recipients_in(connection, query))


def _reminded_enough(
    connection: Connection, incident: Incident, reminder: Repetition
) -> set[Recipient]:
    """Return the recipients with a waiting reminder or a recent message about the incident.

    A message with a time in the future was sent before the clock was set back: nobody knows how
    long ago.
    """
    column, pair = notifications.c, notification_incidents.c
    waits = (column.kind == NotificationKind.REMINDER) & (column.state == NotificationState.PENDING)
    earliest = reminder.now - reminder.least_apart
    came_just_now = (column.sent_at > earliest) & (column.sent_at <= reminder.now)
    query = (
        select(column.channel, column.address)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incident.incident_id)
        .where(or_(waits, came_just_now))
    )
    return set(recipients_in(connection, query))


def withdraw(connection: Connection, incident: Incident) -> None:
    """Remove waiting notifications about an incident itself that no longer apply.

    If one is about other incidents too, it stays and reports those. A notification that a worker
    once claimed may have arrived, so it stays. A recipient who would have heard of the incident for
    the first time is stored as not notified.
    """
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(column.notification_id, column.channel, column.address)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incident.incident_id)
        .where(column.state == NotificationState.PENDING, column.closed_at.is_(None))
        .where(column.kind != NotificationKind.CHANGE)
        .with_for_update(of=notifications)
    )
    found = connection.execute(query).all()
    if not found or _last_transition(connection, incident.incident_id) is None:
        return
    ids = [row.notification_id for row in found]
    of_mine, is_its = pair.notification_id.in_(ids), pair.incident_id == incident.incident_id
    connection.execute(delete(notification_incidents).where(of_mine, is_its))
    rest = connection.execute(select(pair.notification_id, pair.incident_id).where(of_mine))
    left = {row.notification_id: row.incident_id for row in rest}
    gone = [each for each in ids if each not in left]
    connection.execute(delete(notifications).where(column.notification_id.in_(gone)))
    for notification_id, other in left.items():
        last = _last_transition(connection, other)
        mine = update(notifications).where(column.notification_id == notification_id)
        if last is not None:  # it says so of what is left
            connection.execute(mine.values(transition_id=last["transition_id"]))
    for row in found:
        recipient = Recipient(row.channel, row.address)
        _withhold(connection, incident, recipient, "somebody acted, or it ended, before that")


def forget_withheld(
    connection: Connection, transition_id: UUID, recipients: Iterable[Recipient]
) -> None:
    """Let a change reach those of these recipients who were not notified of it, for any reason.

    For the others it stays withheld: another rule has a silence that lasts, or nothing to say.
    """
    member = notification_members.c
    withheld = (member.transition_id == transition_id, member.notification_id.is_(None))
    query = select(member.channel, member.address).where(*withheld)
    mailboxes = set(map(mailbox_of, recipients))
    mine = [each for each in recipients_in(connection, query) if mailbox_of(each) in mailboxes]
    is_mine = or_(false(), *(is_to(each, notification_members) for each in mine))
    connection.execute(delete(notification_members).where(*withheld, is_mine))


def silenced_in(
    connection: Connection, incident: Incident, recipients: Iterable[Recipient]
) -> set[UUID]:
    """Return the changes of an incident that a silence withheld from any of these recipients."""
    member, pair = notification_members.c, incident_transitions.c
    query = (
        select(member.transition_id, member.channel, member.address)
        .join(incident_transitions, pair.transition_id == member.transition_id)
        .where(pair.incident_id == incident.incident_id, member.notification_id.is_(None))
        .where(member.reason.startswith(SILENCED, autoescape=True))
    )
    mailboxes = set(map(mailbox_of, recipients))
    return {
        row.transition_id
        for row in connection.execute(query)
        if mailbox_of(Recipient(row.channel, row.address)) in mailboxes
    }


def notified_of(connection: Connection, incident: Incident) -> list[Recipient]:
    """Return the recipients who were notified of an incident or will be.

    Somebody in quiet hours will still get the first message, and has to hear what followed it.
    """
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(column.channel, column.address)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incident.incident_id)
        .where(column.state.in_([NotificationState.SENT, NotificationState.PENDING]))
        .distinct()
        .order_by(column.channel, column.address)
    )
    return recipients_in(connection, query)


def events_behind(connection: Connection, notification: Notification) -> tuple[IncidentEvent, ...]:
    """Return the events of people that a notification is about, by time: one of each incident."""
    kind, one = _EVENTS.get(notification.kind), notification.incident
    if kind is None:
        return ()
    known = notification.notification_id
    ids = incidents_of(connection, [known])[known] if one is None else [one.incident_id]
    done = [
        [each for each in story if each.kind is kind and each.at <= notification.dated]
        for story in incident_events_of(connection, ids).values()
    ]
    return tuple(
        sorted((each[-1] for each in done if each), key=lambda each: (each.at, each.actor))
    )


def last_changes(connection: Connection, notification_id: UUID) -> list[NotifiedChange]:
    """Return the last change of each incident that a notification without members is about."""
    known = incidents_by_id(
        connection, incidents_of(connection, [notification_id])[notification_id]
    )
    return last_changes_of(connection, list(known.values()))


def last_changes_of(connection: Connection, incidents: Sequence[Incident]) -> list[NotifiedChange]:
    """Return the last change of each of these incidents, by time."""
    last = [_last_transition(connection, each.incident_id) for each in incidents]
    found = [each for each in last if each is not None]
    query = select_transitions().where(
        transitions.c.transition_id.in_([each["transition_id"] for each in found])
    )
    rows = connection.execute(query).mappings()
    return sorted((member_of(row) for row in rows), key=lambda each: each.transition.at)


def _withhold(
    connection: Connection, incident: Incident, recipient: Recipient, reason: str
) -> None:
    """Record why a recipient is not notified, unless the last change has a record of them."""
    last = _last_transition(connection, incident.incident_id)
    if last is not None:
        place = incident.incident_id, last["transition_id"], last["outbox_id"]
        insert_new(connection, notification_members, member_row(recipient, *place, reason=reason))


def _last_transition(connection: Connection, incident_id: UUID) -> RowMapping | None:
    pair = incident_transitions.c
    query = (
        select(outbox.c.transition_id, outbox.c.outbox_id)
        .join(incident_transitions, pair.transition_id == outbox.c.transition_id)
        .where(pair.incident_id == incident_id)
        .order_by(outbox.c.outbox_id.desc())
        .limit(1)
    )
    return connection.execute(query).mappings().one_or_none()
