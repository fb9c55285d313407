"""Release: which open notifications are due, and how they are closed, some merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, delete, func, literal_column, select, update

from dashboard.domain.condition import State
from dashboard.domain.notification import NotificationKind, Recipient
from dashboard.domain.notification_pace import HOUR, Closing, OpenNotification, RecipientTraffic
from dashboard.store.alerts.notifications import select_notifications
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)

_MOST_HOLDING: Final = 3
"""Windows and quiet hours that a summary names as what held it."""

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
    query = select(column.closed_at).where(
        column.channel == recipient.channel,
        column.address == recipient.address,
        column.closed_at > now - HOUR,
        column.closed_at <= now,
    )
    recent = connection.scalars(query.order_by(column.closed_at)).all()
    return RecipientTraffic(recent, count, latest)


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
        thread = _thread_of(connection, closing.notification_id)
        closed = {"closed_at": now, "closed_by": holder_token, "in_reply_to": thread}
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


def _thread_of(connection: Connection, notification_id: UUID) -> str:
    """Return the Message-ID that a notification answers, or nothing where it opens a thread.

    What changes or ends one subject answers the message in which this recipient heard of that;
    everything else of one incident answers its first message.
    """
    query = select_notifications().where(notifications.c.notification_id == notification_id)
    row = connection.execute(query).mappings().one()
    column, cause = notifications.c, transitions.c
    opening_id = row[cause.opening_id]
    if row[cause.before] == State.REJECTED and row[column.members] == 1:
        opening = _message_about(connection, opening_id, row[column.channel], row[column.address])
        if opening and opening != row[column.message_id]:
            return opening
    pair = notification_incidents.c
    incidents = connection.scalars(
        select(pair.incident_id).where(pair.notification_id == notification_id).limit(2)
    ).all()
    if len(incidents) != 1:
        return ""
    first = (
        select(column.message_id)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incidents[0], column.closed_at.is_not(None))
        .where(column.channel == row[column.channel], column.address == row[column.address])
        .where(column.position <= row[column.position], column.notification_id != notification_id)
        .order_by(column.position)
        .limit(1)
    )
    return connection.scalar(first) or ""


def _message_about(
    connection: Connection, transition_id: UUID | None, channel: str, address: str
) -> str:
    """Return the Message-ID under which a recipient was notified of a transition."""
    member = notification_members.c
    query = (
        select(notifications.c.message_id)
        .join(notification_members, member.notification_id == notifications.c.notification_id)
        .where(member.transition_id == transition_id)
        .where(member.channel == channel, member.address == address)
    )
    return connection.scalar(query) or ""
