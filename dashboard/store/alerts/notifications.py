"""Notifications, the attempts to deliver them, and their members: the transitions behind each."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, RowMapping, Select, func, literal_column, select, update

from dashboard.domain.alerts.condition import Opening, Transition
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.hourly_cap import LARGEST_MEMBERS
from dashboard.domain.alerts.incident import Incident, NotifiedChange
from dashboard.domain.alerts.notification import (
    NO_DOMAIN,
    DeliveryAttempt,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.domain.alerts.rule import ObservedChange
from dashboard.domain.alerts.signed_link import KEY_LENGTH
from dashboard.domain.formatting import span
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.tracking.remarks import tags_in
from dashboard.store.alerts.conditions import transition_of
from dashboard.store.alerts.incidents import incidents_by_id
from dashboard.store.alerts.recipients import is_to, recipient_of_verification, recipients_in
from dashboard.store.engine.batching import PORTION, grouped
from dashboard.store.engine.engine import Store
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    deliveries,
    incident_transitions,
    installation,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    rejections,
    tracked_hashes,
    transitions,
)
from dashboard.store.schema.columns import columns_of, read_as
from dashboard.store.schema.rejections import stored_rejection

# Written out, so that the planner sees that the partial index fits.
IS_PENDING: Final = notifications.c.state == literal_column("'pending'")

_CONTEXT: Final = b"linewatch message 1:"
"""Separates these signatures from everything else that the key signs."""


def notification_id_of(transition_id: UUID, recipient: Recipient) -> UUID:
    """Return the id of a recipient's notification whose first member is a transition."""
    return uuid5(transition_id, f"{recipient.channel}:{recipient.address}")


def waiting_row(
    connection: Connection,
    notification_id: UUID,
    recipient: Recipient,
    domain: str,
    *,
    now: datetime,
    release_at: datetime,
) -> dict[str, Any]:
    """Return the columns of a new notification that is sent from `release_at` on."""
    return columns_of(
        notifications,
        recipient,
        notification_id=notification_id,
        message_id=message_id_of(connection, notification_id, domain),
        created_at=now,
        release_at=release_at,
        state=NotificationState.PENDING,
        attempts=0,
        next_attempt_at=release_at,
        outcome="",
    )


def member_row(
    recipient: Recipient,
    incident_id: UUID,
    transition_id: UUID,
    position: int,
    *,
    notification_id: UUID | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """Return the columns of one change for one recipient: its notification, or why it has none."""
    return columns_of(
        notification_members,
        recipient,
        transition_id=transition_id,
        position=position,
        incident_id=incident_id,
        notification_id=notification_id,
        reason=reason,
    )


def message_id_of(connection: Connection, notification_id: UUID, domain: str = NO_DOMAIN) -> str:
    """Return the Message-ID of a notification, in the domain that its message comes from.

    Nobody else can compute it: whoever knows it could write a bounce of that message, and the id of
    a notification follows from those of changes and incidents, which links and webhooks carry. It
    is stored with the notification, since another key gives another Message-ID.
    """
    key = ensure_link_key(connection)
    proof = hmac.digest(key, _CONTEXT + notification_id.bytes, hashlib.sha256)
    return written_message_id(UUID(bytes=proof[:16]), domain)


def written_message_id(number: UUID, domain: str) -> str:
    """Write a Message-ID with a number that nobody can guess."""
    return f"<{number}@{domain}>"


def select_transitions() -> Select[Any]:
    """Select transitions, each with the rejection that caused it, if one did."""
    return (
        select(transitions, rejections)
        .select_from(transitions)
        .outerjoin(rejections, rejections.c.rejection_id == transitions.c.rejection_id)
    )


def select_changes() -> Select[Any]:
    """Select transitions as above, with the remarks on the transaction if it is tracked."""
    tracked = tracked_hashes.c
    return (
        select_transitions()
        .outerjoin(tracked_hashes, tracked.tx_hash == transitions.c.tx_hash)
        .add_columns(tracked.tracked_id, tracked.label, tracked.tags)
    )


def select_notifications() -> Select[Any]:
    """Select notifications with their first member."""
    of_transition = notifications.c.transition_id == transitions.c.transition_id
    return select_transitions().add_columns(*notifications.c).join(notifications, of_transition)


def transition_and_rejection(row: RowMapping) -> tuple[Transition, StoredRejection | None]:
    """Read a row of `select_transitions`."""
    has_rejection = row[rejections.c.rejection_id] is not None
    return transition_of(row), stored_rejection(row) if has_rejection else None


def change_of(row: RowMapping) -> ObservedChange:
    """Read a row of `select_changes`."""
    tracked = tracked_hashes.c
    return ObservedChange(
        *transition_and_rejection(row),
        label=row[tracked.label] or "",
        tags=tags_in(row[tracked.tags] or ""),
        is_tracked=row[tracked.tracked_id] is not None,
    )


def member_of(row: RowMapping) -> NotifiedChange:
    """Read a row of `select_transitions` as a member."""
    return NotifiedChange(*transition_and_rejection(row), row[transitions.c.opened_at])


def notification_of(row: RowMapping) -> Notification:
    """Read a row of `select_notifications`; the incident is not part of it."""
    first = member_of(row)
    opening_id = row[transitions.c.opening_id]
    return read_as(
        Notification,
        row,
        notifications,
        recipient=read_as(Recipient, row, notifications),
        transition=first.transition,
        rejection=first.rejection,
        opening=None if opening_id is None else Opening(opening_id, row[transitions.c.opened_at]),
        member_count=row[notifications.c.members],
    )


def reached_by(connection: Connection, transition_id: UUID) -> set[Recipient]:
    """Return the recipients whom a transition reached or from whom it was withheld."""
    column = notification_members.c
    query = select(column.channel, column.address).where(column.transition_id == transition_id)
    return set(recipients_in(connection, query))


def say_unreached(connection: Connection, incident_id: UUID, route: RuleRoute) -> None:
    """Record, for each transition of an incident that reached nobody, that it was too short."""
    pair = incident_transitions.c
    of_incident = (
        select(outbox.c.transition_id, outbox.c.outbox_id)
        .join(incident_transitions, pair.transition_id == outbox.c.transition_id)
        .where(pair.incident_id == incident_id)
    )
    reason = f"it ended within the pending period of {route.rule}, {span(route.timers.pending)}"
    rows = [
        member_row(recipient, incident_id, row.transition_id, row.outbox_id, reason=reason)
        for row in connection.execute(of_incident).all()
        for recipient in route.recipients
    ]
    insert_all_new(connection, notification_members, rows)


def deliveries_by_notification(
    connection: Connection, notification_ids: Sequence[UUID]
) -> defaultdict[UUID, list[DeliveryAttempt]]:
    """Return the finished deliveries of each of these notifications, the oldest first."""
    query = (
        select(deliveries)
        .where(deliveries.c.notification_id.in_(notification_ids))
        .order_by(deliveries.c.delivery_id)
    )
    return grouped(
        (row.notification_id, read_as(DeliveryAttempt, row, deliveries))
        for row in connection.execute(query)
    )


def link_key(connection: Connection) -> bytes | None:
    """Return the key that signs links, None before the first one exists."""
    found: bytes | None = connection.scalar(select(installation.c.link_key))
    return found


def renew_link_key(connection: Connection, new: bytes) -> None:
    """Replace the key: links signed with the old one count as forged from now on."""
    connection.execute(update(installation).values(link_key=new))


def make_link_key(connection: Connection, new: bytes) -> bytes:
    """Store `new` as the key unless there is one; return the stored key.

    Backups contain it, so links stay valid after a restore.
    """
    first = update(installation).where(installation.c.link_key.is_(None))
    connection.execute(first.values(link_key=new))
    kept = link_key(connection)
    assert kept is not None  # noqa: S101 - a store has exactly one row of its installation
    return kept


def ensure_link_key(connection: Connection) -> bytes:
    """Return the key, created now if none could be stored before."""
    return link_key(connection) or make_link_key(connection, secrets.token_bytes(KEY_LENGTH))


class SentMessage(Struct, frozen=True):
    """The recipient of a message that was sent, or that we tried to send.

    Others can compute the Message-ID of one that `is_guessable`: release 0.1.0 sent it, with the id
    of its notification.
    """

    recipient: Recipient
    is_guessable: bool = False


def sent_message(connection: Connection, message_id: str) -> SentMessage | None:
    """Return what is known of a message; None if nobody ever tried to send it."""
    column = notifications.c
    query = select(column.notification_id, column.channel, column.address).where(
        column.message_id == message_id, column.attempts > 0
    )
    row = connection.execute(query).first()
    if row is None:
        recipient = recipient_of_verification(connection, message_id)
        return None if recipient is None else SentMessage(recipient)
    is_guessable = message_id.startswith(f"<{row.notification_id}@")
    return SentMessage(Recipient(row.channel, row.address), is_guessable)


def with_incidents(
    connection: Connection, notifications: Sequence[Notification]
) -> list[Notification]:
    """Return the same notifications, each with its incident if it is about exactly one."""
    about = incidents_of(connection, [each.notification_id for each in notifications])
    single = {key: each[0] for key, each in about.items() if len(each) == 1}
    known = incidents_by_id(connection, set(single.values()))
    return [
        replace(each, incident=known.get(single[each.notification_id]))
        if each.notification_id in single
        else each
        for each in notifications
    ]


def all_members(store: Store, notification_id: UUID) -> Iterator[NotifiedChange]:
    """Read every member in the order of events, a few hundred at a time; raises StoreError."""
    column, after = notification_members.c, -1
    query = (
        select_transitions()
        .add_columns(column.position)
        .join(notification_members, column.transition_id == transitions.c.transition_id)
        .where(column.notification_id == notification_id)
        .order_by(column.position)
        .limit(PORTION)
    )
    while True:
        with store.read() as connection:
            rows = connection.execute(query.where(column.position > after)).mappings().all()
        yield from map(member_of, rows)
        if len(rows) < PORTION:
            return
        after = rows[-1][column.position]


def states_of(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Return the states that each of these notifications reports, each once, in order of events."""
    column = notification_members.c
    query = (
        select(column.notification_id, transitions.c.after)
        .join(transitions, transitions.c.transition_id == column.transition_id)
        .where(column.notification_id.in_(ids))
        .group_by(column.notification_id, transitions.c.after)
        .order_by(func.min(column.position))
    )
    return grouped(connection.execute(query))


def sent_changes(connection: Connection, notification: Notification) -> list[NotifiedChange]:
    """Return the changes of its incidents that were sent to the same recipient, at most 5,000.

    Those are the latest, in the order of events.
    """
    pair, member, column = notification_incidents.c, notification_members.c, notifications.c
    about = select(pair.incident_id).where(pair.notification_id == notification.notification_id)
    query = (
        select_transitions()
        .join(notification_members, member.transition_id == transitions.c.transition_id)
        .join(notifications, column.notification_id == member.notification_id)
        .where(member.incident_id.in_(about), column.state == NotificationState.SENT)
        .where(is_to(notification.recipient, notification_members))
        .order_by(member.position.desc())
        .limit(LARGEST_MEMBERS)
    )
    rows = connection.execute(query).mappings().all()
    return [member_of(row) for row in reversed(rows)]


def incidents_in(
    connection: Connection, notification_id: UUID
) -> tuple[list[Incident], list[Incident]]:
    """Return the incidents of which a notification reports a change, and its others."""
    changed = _changed_in(connection, notification_id)
    about = set(incidents_of(connection, [notification_id])[notification_id])
    known = incidents_by_id(connection, about | changed)
    several = sorted(known.values(), key=lambda each: each.opened_at)
    return (
        [each for each in several if each.incident_id in changed],
        [each for each in several if each.incident_id not in changed],
    )


def _changed_in(connection: Connection, notification_id: UUID) -> set[UUID]:
    member = notification_members.c
    changed = select(member.incident_id).where(member.notification_id == notification_id)
    return set(connection.scalars(changed.distinct()))


def incidents_of(connection: Connection, ids: Sequence[UUID]) -> defaultdict[UUID, list[UUID]]:
    """Return the ids of the incidents that each of these notifications is about."""
    column = notification_incidents.c
    query = select(column.notification_id, column.incident_id).where(
        column.notification_id.in_(ids)
    )
    return grouped(connection.execute(query))
