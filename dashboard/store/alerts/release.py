"""Release: which open notifications are due, and how they are closed, some merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import (
    Connection,
    RowMapping,
    delete,
    func,
    literal_column,
    select,
    update,
)

from dashboard.domain.condition import Subject
from dashboard.domain.notification import NotificationKind, Recipient
from dashboard.domain.notification_pace import HOUR, Closing, OpenNotification, RecipientTraffic
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.notifications import select_notifications
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    conditions,
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)

_MOST_HOLDING: Final = 3
"""Windows and quiet hours that a summary names as what held it."""

_LONGEST_THREAD: Final = 3
"""Message-IDs that a message names beside the first of its thread."""

# Written out, so that the planner sees that the partial index fits.
_IS_PENDING = notifications.c.state == literal_column("'pending'")


def open_notifications(connection: Connection) -> list[OpenNotification]:
    """Return every pending notification that still gathers members, in the order of events."""
    column = notifications.c
    query = (
        select(
            *(column.notification_id, column.channel, column.address, column.position),
            *(column.created_at, column.release_at, column.members, column.is_urgent, column.kind),
        )
        .where(_IS_PENDING, column.closed_at.is_(None))
        .order_by(column.position)
    )
    return [
        OpenNotification(
            row.notification_id,
            Recipient(row.channel, row.address),
            *(row.position, row.created_at, row.release_at, row.members, row.is_urgent),
            kind=NotificationKind(row.kind),
        )
        for row in connection.execute(query)
    ]


def traffic_to(connection: Connection, recipient: Recipient, now: datetime) -> RecipientTraffic:
    """Return what went to a recipient within the last hour, and what waits to be delivered."""
    column = notifications.c
    waiting = select(func.count(column.notification_id), func.max(column.closed_at)).where(
        _IS_PENDING,
        column.channel == recipient.channel,
        column.address == recipient.address,
        column.closed_at.is_not(None),
    )
    count, latest = connection.execute(waiting).one()
    query = select(column.closed_at, column.is_urgent).where(
        column.channel == recipient.channel,
        column.address == recipient.address,
        column.closed_at > now - HOUR,
        column.closed_at <= now,
    )
    rows = connection.execute(query.order_by(column.closed_at)).all()
    urgent = [row.closed_at for row in rows if row.is_urgent]
    return RecipientTraffic([row.closed_at for row in rows], count, latest, urgent)


def close(
    connection: Connection, closings: Sequence[Closing], holder_token: int, now: datetime
) -> None:
    """Fix the members of notifications that still gather, and the thread each belongs to."""
    for closing in closings:
        ids = [closing.notification_id, *closing.merged]
        query = select(notifications.c.notification_id).where(
            notifications.c.notification_id.in_(ids),
            _IS_PENDING,
            notifications.c.closed_at.is_(None),
        )
        still_open = set(connection.scalars(query.with_for_update()))
        if closing.notification_id not in still_open:
            continue
        merged = [each for each in closing.merged if each in still_open]
        if merged:
            _merge(connection, closing.notification_id, merged)
        mine = notifications.c.notification_id == closing.notification_id
        answered, thread = _thread_of(connection, closing.notification_id)
        closed = {"closed_at": now, "closed_by": holder_token}
        closed |= {"in_reply_to": answered, "thread": thread}
        connection.execute(update(notifications).where(mine).values(closed))


def _merge(connection: Connection, target: UUID, merged: Sequence[UUID]) -> None:
    """Move the members of some notifications that nobody has claimed to another."""
    member, pair = notification_members.c, notification_incidents.c
    moved = update(notification_members).where(member.notification_id.in_(merged))
    connection.execute(moved.values(notification_id=target))
    of_merged = select(pair.incident_id).where(pair.notification_id.in_(merged)).distinct()
    rows = [
        {"notification_id": target, "incident_id": each} for each in connection.scalars(of_merged)
    ]
    insert_all_new(connection, notification_incidents, rows)
    held_for = _what_held(connection, [target, *merged])
    connection.execute(delete(notification_incidents).where(pair.notification_id.in_(merged)))
    gone = notifications.c.notification_id.in_(merged)
    connection.execute(delete(notifications).where(gone))
    many = select(func.count()).where(member.notification_id == target).scalar_subquery()
    mine = notifications.c.notification_id == target
    connection.execute(update(notifications).where(mine).values(members=many, held_for=held_for))


def _what_held(connection: Connection, ids: Sequence[UUID]) -> str:
    """Say what held any of these notifications back, nothing where nothing did."""
    column = notifications.c
    query = select(column.held_for).where(column.notification_id.in_(ids), column.held_for != "")
    return "; ".join(sorted(connection.scalars(query.distinct()))[:_MOST_HOLDING])


def _thread_of(connection: Connection, notification_id: UUID) -> tuple[str, str]:
    """Return the Message-ID that a notification answers, and the thread that ends with it.

    What becomes of one rejected transaction answers the message in which this recipient heard of
    the rejection; everything else of one incident answers its first message. Both are empty where
    a notification opens a thread.
    """
    query = select_notifications().where(notifications.c.notification_id == notification_id)
    row = connection.execute(query).mappings().one()
    answered = _about_rejection(connection, row) or _first_of_incident(connection, row)
    if answered is None:
        return "", ""
    message_id: str = answered["message_id"]
    before = [*answered["thread"].split(), message_id]
    return message_id, " ".join([*before[:1], *before[1:][-_LONGEST_THREAD:]])


def _about_rejection(connection: Connection, row: RowMapping) -> RowMapping | None:
    """Return the message in which a recipient heard that a transaction was rejected.

    None where this is that message, or where the notification is about more than one transaction.
    """
    column, member = notifications.c, notification_members.c
    subject = select(transitions.c.network_id, transitions.c.tx_hash).distinct().limit(2)
    about = connection.execute(
        subject.join(
            notification_members, member.transition_id == transitions.c.transition_id
        ).where(member.notification_id == row[column.notification_id])
    ).all()
    if len(about) != 1 or about[0].tx_hash is None:
        return None
    rejected = Subject.transaction(NetworkId(about[0].network_id), about[0].tx_hash)
    query = (
        select(column.message_id, column.thread)
        .join(notification_members, member.notification_id == column.notification_id)
        .join(conditions, conditions.c.opening_id == member.transition_id)
        .where(conditions.c.subject == rejected.key())
        .where(member.channel == row[column.channel], member.address == row[column.address])
        .where(column.notification_id != row[column.notification_id])
        .where(column.closed_at.is_not(None))
    )
    return connection.execute(query).mappings().one_or_none()


def _first_of_incident(connection: Connection, row: RowMapping) -> RowMapping | None:
    """Return the first message to a recipient about the one incident of a notification."""
    column, pair = notifications.c, notification_incidents.c
    notification_id = row[column.notification_id]
    incidents = connection.scalars(
        select(pair.incident_id).where(pair.notification_id == notification_id).limit(2)
    ).all()
    if len(incidents) != 1:
        return None
    first = (
        select(column.message_id, column.thread)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incidents[0], column.closed_at.is_not(None))
        .where(column.channel == row[column.channel], column.address == row[column.address])
        .where(column.position <= row[column.position], column.notification_id != notification_id)
        .order_by(column.position)
        .limit(1)
    )
    return connection.execute(first).mappings().one_or_none()
