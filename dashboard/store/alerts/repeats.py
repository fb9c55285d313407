"""Repeated notifications: reminders of incidents that nobody took in hand, and escalations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import Connection, RowMapping, select

from dashboard.domain.incident import Incident
from dashboard.domain.notification import NotificationKind, NotificationState, Recipient
from dashboard.store.alerts.addresses_off import list_addresses_off
from dashboard.store.alerts.notifications import message_id_of
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import (
    incident_transitions,
    notification_incidents,
    notifications,
    outbox,
)


@dataclass(frozen=True, slots=True)
class Repetition:
    """Why an incident is notified again, when, and not before when that goes.

    Message-IDs stand below `domain`.
    """

    kind: NotificationKind
    now: datetime
    release_at: datetime
    domain: str


def repeat(
    connection: Connection,
    incident: Incident,
    repetition: Repetition,
    recipients: Iterable[Recipient],
) -> None:
    """Notify of an incident again, as its last change says, whose addresses are not off.

    The same repetition is notified once: its id follows from the incident and its number.
    """
    last = _last_transition(connection, incident)
    if last is None:
        return
    off = {each.recipient for each in list_addresses_off(connection)}
    for each in recipients:
        if each in off:
            continue
        number = f"{repetition.kind}:{incident.reminders}:{each.channel}:{each.address}"
        notification_id = uuid5(incident.incident_id, number)
        row: dict[str, Any] = {
            "notification_id": notification_id,
            "transition_id": last["transition_id"],
            "position": last["outbox_id"],
            "channel": each.channel,
            "address": each.address,
            "message_id": message_id_of(notification_id, repetition.domain),
            "kind": repetition.kind,
            "members": 0,
            "created_at": repetition.now,
            "release_at": repetition.release_at,
            "state": NotificationState.PENDING,
            "attempts": 0,
            "next_attempt_at": repetition.release_at,
            "outcome": "",
        }
        if insert_new(connection, notifications, row):
            pair = {"notification_id": notification_id, "incident_id": incident.incident_id}
            insert_new(connection, notification_incidents, pair)


def notified_recipients(connection: Connection, incident_id: UUID) -> list[Recipient]:
    """Return who was notified of an incident, or is about to be."""
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(column.channel, column.address)
        .join(notification_incidents, pair.notification_id == column.notification_id)
        .where(pair.incident_id == incident_id)
        .distinct()
        .order_by(column.channel, column.address)
    )
    return [Recipient(row.channel, row.address) for row in connection.execute(query)]


def _last_transition(connection: Connection, incident: Incident) -> RowMapping | None:
    pair = incident_transitions.c
    query = (
        select(outbox.c.transition_id, outbox.c.outbox_id)
        .join(incident_transitions, pair.transition_id == outbox.c.transition_id)
        .where(pair.incident_id == incident.incident_id)
        .order_by(outbox.c.outbox_id.desc())
        .limit(1)
    )
    return connection.execute(query).mappings().one_or_none()
