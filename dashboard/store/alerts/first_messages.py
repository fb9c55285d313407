"""First messages: since when the people whom a rule names know of an incident, or when they will.

A change of several rules reaches each recipient once, so that a message about an incident of one
rule may tell somebody of the incident of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, exists, func, literal_column, or_, select

from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.people.recipients import mailbox_of
from dashboard.store.schema import (
    deliveries,
    incident_transitions,
    notification_members,
    notifications,
)


def known_at(
    connection: Connection, incident: Incident, named: Sequence[Recipient], now: datetime
) -> datetime | None:
    """Return when those whom its rule names heard of an incident, or will; None if they do not."""
    reached = reached_at(connection, incident, named)
    return reached or awaited_at(connection, incident, named, now)


def reached_at(
    connection: Connection, incident: Incident, named: Sequence[Recipient]
) -> datetime | None:
    """Return when the first message about an incident was tried; None if none was yet.

    Other incidents' messages to those whom its rule names count; its own are stored with it.
    """
    if incident.notified_at is not None:
        return incident.notified_at
    column, attempt = notifications.c, deliveries.c
    tried = (
        select(column.channel, column.address, func.min(attempt.attempted_at))
        .join(deliveries, attempt.notification_id == column.notification_id)
        .where(column.notification_id.in_(_with_changes_of(incident)))
        .group_by(column.channel, column.address)
    )
    mailboxes = set(map(mailbox_of, named))
    return min(
        (
            at
            for *whom, at in connection.execute(tried)
            if mailbox_of(Recipient(*whom)) in mailboxes
        ),
        default=None,
    )


def awaited_at(
    connection: Connection, incident: Incident, named: Sequence[Recipient], now: datetime
) -> datetime | None:
    """Return when a message that waits will tell those whom its rule names; None if none waits.

    That is when it is due, now at the earliest; or in the past if it cannot go because others to
    its recipient fail.
    """
    mailboxes = set(map(mailbox_of, named))
    return min(
        (
            row.release_at if row.is_kept_back else max(now, row.release_at)
            for row in connection.execute(_waiting(incident))
            if row.is_own or mailbox_of(Recipient(row.channel, row.address)) in mailboxes
        ),
        default=None,
    )


def _waiting(incident: Incident) -> Select[Any]:
    """Select the messages that wait with changes of an incident, and whether others keep them back.

    What is held since a restore waits for a person, for longer than now.
    """
    column, member, failing = notifications.c, notification_members.c, notifications.alias()
    is_kept_back = exists().where(
        failing.c.channel == column.channel,
        failing.c.address == column.address,
        failing.c.state == literal_column("'pending'"),  # so that the partial index fits
        failing.c.attempts > 0,
    )
    is_own = exists().where(
        member.notification_id == column.notification_id,
        member.incident_id == incident.incident_id,
    )
    is_pending = column.state == NotificationState.PENDING
    return select(
        *(column.channel, column.address, column.release_at),
        (is_pending & is_kept_back).label("is_kept_back"),
        is_own.label("is_own"),
    ).where(
        column.notification_id.in_(_with_changes_of(incident)),
        or_(is_pending, column.state == NotificationState.HELD),
    )


def _with_changes_of(incident: Incident) -> Select[Any]:
    """Select the ids of messages that name a change of an incident."""
    member, pair = notification_members.c, incident_transitions.c
    return (
        select(member.notification_id)
        .join(incident_transitions, pair.transition_id == member.transition_id)
        .where(pair.incident_id == incident.incident_id)
    )
