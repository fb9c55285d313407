"""Closings: which open notifications are due or held, and how they close, some merged into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    RowMapping,
    and_,
    delete,
    exists,
    func,
    or_,
    select,
    true,
    update,
)

from dashboard.domain.alerts.condition import Subject
from dashboard.domain.alerts.holding import RuleRoute, window_key
from dashboard.domain.alerts.hourly_cap import (
    HOUR,
    Closing,
    Gone,
    OpenNotification,
    RecipientTraffic,
)
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.notification import (
    Delay,
    NotificationKind,
    NotificationState,
    Precedence,
    Recipient,
)
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.incidents import incident_of
from dashboard.store.alerts.notifications import IS_PENDING, select_notifications
from dashboard.store.alerts.recipients import is_to, last_sent_to
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    conditions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)
from dashboard.store.schema.columns import read_as

_MOST_HOLDING: Final = 3
"""Windows and quiet hours that a summary names as what held it."""

_LONGEST_THREAD: Final = 3
"""Message-IDs that a message names beside the first of its thread."""


def open_notifications(connection: Connection) -> list[OpenNotification]:
    """Return every pending notification that still takes members, in the order of events.

    A notification is left out if it follows a closed one about the same incident that is not
    delivered yet: as part of a summary, which has the place of its first change, it would overtake
    that one.
    """
    column = notifications.c
    groups = (IS_PENDING, column.closed_at.is_(None), ~follows_a_pending_one(is_closed))
    pair = notification_incidents.c
    of_incidents = (
        select(pair.notification_id, pair.incident_id)
        .join(notifications, column.notification_id == pair.notification_id)
        .where(*groups)
    )
    about = {row.notification_id: row.incident_id for row in connection.execute(of_incidents)}
    query = (
        select(
            *(column.notification_id, column.channel, column.address, column.position),
            *(column.created_at, column.release_at, column.members, column.is_urgent, column.kind),
            *(column.precedence, column.held_for, column.held_by, transitions.c.tx_hash),
        )
        .join(transitions, transitions.c.transition_id == column.transition_id)
        .where(*groups)
        .order_by(column.position)
    )
    return [
        read_as(
            OpenNotification,
            row,
            notifications,
            recipient=read_as(Recipient, row, notifications),
            is_of_network=row.tx_hash is None,
            incident_id=about.get(row.notification_id),
            was_held=row.held_for != "",
            was_capped=Delay.CAP in row.held_by.split(),
        )
        for row in connection.execute(query)
    ]


def is_closed(notification: FromClause) -> ColumnElement[bool]:
    """Whether the members of a notification are fixed."""
    return notification.c.closed_at.is_not(None)


def follows_a_pending_one(
    is_meant: Callable[[FromClause], ColumnElement[bool]],
) -> ColumnElement[bool]:
    """Whether an earlier notification about the same incident to the same recipient is pending."""
    earlier, of_mine = notifications.alias(), notification_incidents.alias()
    of_earlier = notification_incidents.alias()
    return exists().where(
        of_mine.c.notification_id == notifications.c.notification_id,
        of_earlier.c.incident_id == of_mine.c.incident_id,
        earlier.c.notification_id == of_earlier.c.notification_id,
        earlier.c.channel == notifications.c.channel,
        earlier.c.address == notifications.c.address,
        earlier.c.position < notifications.c.position,
        earlier.c.state == NotificationState.PENDING,
        is_meant(earlier),
    )


def has_an_earlier_one() -> ColumnElement[bool]:
    """Whether an earlier one about the same incident, or the one it answers, is pending.

    A notification about an incident itself that waits for its turn delays no change. A change that
    quiet hours or maintenance hold longer delays only the end of its incident. If two notifications
    would wait for each other, because one answers the other, neither waits.
    """
    answered = notifications.alias()
    answers = exists().where(
        answered.c.message_id == notifications.c.in_reply_to,
        answered.c.state == NotificationState.PENDING,
        answered.c.position <= notifications.c.position,
        answered.c.in_reply_to != notifications.c.message_id,
    )
    return or_(answers, follows_a_pending_one(_delays))


def _delays(earlier: FromClause) -> ColumnElement[bool]:
    """Whether an earlier notification about the same incident delays this one while it waits."""
    column = notifications.c
    is_end = and_(column.kind == NotificationKind.CHANGE, column.precedence == Precedence.RESOLVED)
    is_awaited = or_(earlier.c.release_at <= column.release_at, is_end)
    return or_(is_closed(earlier), and_(earlier.c.kind == NotificationKind.CHANGE, is_awaited))


class HeldNotification(Struct, frozen=True):
    """A notification that waits for the end of maintenance; `held_by` names what holds it.

    `incident` is what it is about; for a summary of several, one of them.
    """

    notification_id: UUID
    recipient: Recipient
    is_of_changes: bool
    held_by: str
    incident: Incident


def held_notifications(
    connection: Connection, now: datetime, after: UUID | None, limit: int
) -> list[HeldNotification]:
    """Return the next unclaimed notifications that maintenance windows hold now, by their ids."""
    column, pair = notifications.c, notification_incidents.c
    chosen = (
        select(column.notification_id)
        .where(IS_PENDING, column.closed_at.is_(None), column.release_at > now)
        .where(column.held_by.contains(window_key(""), autoescape=True))
        .where(true() if after is None else column.notification_id > after)
        .order_by(column.notification_id)
        .limit(limit)
    )
    query = (
        select(incidents, column.notification_id, column.channel, column.address, column.kind)
        .add_columns(column.held_by)
        .join(notification_incidents, pair.incident_id == incidents.c.incident_id)
        .join(notifications, column.notification_id == pair.notification_id)
        .where(IS_PENDING, column.notification_id.in_(chosen))
        .order_by(column.notification_id)
        .with_for_update(of=notifications)
    )
    return [
        HeldNotification(
            row[column.notification_id],
            read_as(Recipient, row, notifications),
            row[column.kind] == NotificationKind.CHANGE,
            row[column.held_by],
            incident_of(row),
        )
        for row in connection.execute(query).mappings()
    ]


def hold_until(
    connection: Connection, notification: HeldNotification, route: RuleRoute, now: datetime
) -> None:
    release_at = route.held_until or now
    mine = notifications.c.notification_id == notification.notification_id
    held = {"release_at": release_at, "next_attempt_at": release_at, "held_by": route.held_by}
    if route.held_for:
        held["held_for"] = route.held_for
    connection.execute(update(notifications).where(mine).values(held))


def traffic_to(connection: Connection, recipient: Recipient, now: datetime) -> RecipientTraffic:
    """Return what went to a recipient within the last hour, and what waits for delivery.

    What failed although another one was sent since it was closed has a reason of its own, which
    says nothing of others; nor does what waits for an earlier one, as for one that fails alone.
    """
    column = notifications.c
    waiting = select(func.count(column.notification_id), func.max(column.closed_at)).where(
        IS_PENDING,
        is_to(recipient),
        column.closed_at.is_not(None),
        ~has_an_earlier_one(),
    )
    if (accepted_at := last_sent_to(connection, recipient)) is not None:
        waiting = waiting.where(or_(column.attempts == 0, column.closed_at > accepted_at))
    count, latest = connection.execute(waiting).one()
    query = select(column.closed_at, column.is_urgent, column.precedence).where(
        is_to(recipient), column.closed_at > now - HOUR, column.closed_at <= now
    )
    recent = [
        Gone(row.closed_at, Precedence(row.precedence), row.is_urgent)
        for row in connection.execute(query.order_by(column.closed_at))
    ]
    return RecipientTraffic(recent, count, latest)


def note_cap(connection: Connection, passed_over: Sequence[UUID]) -> None:
    """Record that the cap deferred these open notifications."""
    column = notifications.c
    query = select(column.notification_id, column.held_by).where(
        column.notification_id.in_(passed_over), IS_PENDING, column.closed_at.is_(None)
    )
    for row in connection.execute(query.with_for_update()).all():
        mine = column.notification_id == row.notification_id
        noted = f"{row.held_by} {Delay.CAP}".strip()
        connection.execute(update(notifications).where(mine).values(held_by=noted))


def close(
    connection: Connection, closings: Sequence[Closing], holder_token: int, now: datetime
) -> None:
    """Fix the members of open notifications, and the thread that each belongs to."""
    for closing in closings:
        ids = [closing.notification_id, *closing.merged]
        column = notifications.c
        query = select(column.notification_id, column.held_by).where(
            column.notification_id.in_(ids), IS_PENDING, column.closed_at.is_(None)
        )
        rows = connection.execute(query.with_for_update())
        still_open = {row.notification_id: row.held_by for row in rows}
        if closing.notification_id not in still_open:
            continue
        merged = [each for each in closing.merged if each in still_open]
        if merged:
            _merge(connection, closing.notification_id, merged)
        mine = notifications.c.notification_id == closing.notification_id
        answered, thread = _thread_of(connection, closing.notification_id)
        closed = {"closed_at": now, "closed_by": holder_token}
        closed |= {"in_reply_to": answered, "thread": thread}
        if closing.delay is not None:
            keys = [key for each in ids for key in still_open.get(each, "").split()]
            closed["held_by"] = " ".join(dict.fromkeys((*keys, closing.delay)))
        connection.execute(update(notifications).where(mine).values(closed))


def _merge(connection: Connection, target: UUID, merged: Sequence[UUID]) -> None:
    """Move the members of unclaimed notifications to another notification."""
    member, pair = notification_members.c, notification_incidents.c
    moved = update(notification_members).where(member.notification_id.in_(merged))
    connection.execute(moved.values(notification_id=target))
    of_merged = select(notification_incidents).where(pair.notification_id.in_(merged))
    rows = connection.execute(of_merged).all()
    about = [{"notification_id": target, "incident_id": each.incident_id} for each in rows]
    insert_all_new(connection, notification_incidents, about)
    escalated = [each.incident_id for each in rows if each.is_escalation]
    of_target = (pair.notification_id == target, pair.incident_id.in_(escalated))
    connection.execute(update(notification_incidents).where(*of_target).values(is_escalation=True))
    shared = _shared_by(connection, [target, *merged])
    connection.execute(delete(notification_incidents).where(pair.notification_id.in_(merged)))
    gone = notifications.c.notification_id.in_(merged)
    connection.execute(delete(notifications).where(gone))
    many = select(func.count()).where(member.notification_id == target).scalar_subquery()
    mine = notifications.c.notification_id == target
    connection.execute(update(notifications).where(mine).values(members=many, **shared))


def _shared_by(connection: Connection, ids: Sequence[UUID]) -> dict[str, object]:
    """Return what one notification for all of these says: its kind, its place, what held them.

    If some were held, it is dated by the last of those that were released.
    """
    column = notifications.c
    query = select(
        *(column.kind, column.precedence, column.held_for, column.held_by, column.release_at)
    )
    rows = connection.execute(query.where(column.notification_id.in_(ids))).all()
    kinds = {NotificationKind(row.kind) for row in rows}
    kind = kinds.pop() if len(kinds) == 1 else NotificationKind.SUMMARY
    held_by = dict.fromkeys(key for row in rows for key in row.held_by.split())
    held_for = sorted({row.held_for for row in rows} - {""})[:_MOST_HOLDING]
    released = [row.release_at for row in rows if row.held_for]
    return {
        **({"release_at": max(released)} if released else {}),
        "kind": NotificationKind.CHANGE if NotificationKind.CHANGE in kinds else kind,
        "precedence": min(row.precedence for row in rows),
        "held_for": "; ".join(held_for),
        "held_by": " ".join(held_by),
    }


def _thread_of(connection: Connection, notification_id: UUID) -> tuple[str, str]:
    """Return the Message-ID that a notification answers, and the thread that ends with it.

    A change of one rejected transaction answers the message that told this recipient of the
    rejection; any other change answers the first message about its incident. Both are empty if a
    notification opens a thread.
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
    """Return the message that told a recipient that a transaction was rejected.

    None if this is that message, or if the notification is about more than one transaction.
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
