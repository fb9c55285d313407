"""Incidents as people look at them: open or over, with their story and who was notified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, func, select

from dashboard.domain.incident import Incident, IncidentEvent, IncidentState
from dashboard.domain.incident_response import IncidentResponse
from dashboard.domain.notification import NotificationState, Recipient
from dashboard.domain.quantity import TxHash
from dashboard.domain.silence import Silence
from dashboard.store.alerts.incidents import (
    add_events,
    incident_of,
    incident_story,
    save_incident,
)
from dashboard.store.schema import (
    conditions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)


@dataclass(frozen=True, slots=True)
class NotifiedRecipient:
    """What one recipient got of an incident: how many notifications in each state."""

    recipient: Recipient
    states: dict[NotificationState, int]
    last_sent: datetime | None = None


@dataclass(frozen=True, slots=True)
class WithheldChanges:
    """How many changes of an incident one recipient was not notified of, and why not."""

    recipient: Recipient
    reason: str
    changes: int


@dataclass(frozen=True, slots=True)
class IncidentStory:
    """An incident with all that happened to it, and what went to whom.

    `silence` is what keeps it from everybody now, None where nothing does.
    """

    incident: Incident
    events: tuple[IncidentEvent, ...]
    notified: tuple[NotifiedRecipient, ...]
    withheld: tuple[WithheldChanges, ...]
    silence: Silence | None = None

    @property
    def state(self) -> IncidentState:
        """Where the incident stands, for everybody who looks at it."""
        if self.silence is not None and self.incident.state is IncidentState.FIRING:
            return IncidentState.SILENCED
        return self.incident.state


def open_incident_stories(connection: Connection, limit: int) -> list[IncidentStory]:
    """Return incidents that are not over, the latest to change first, at most `limit`."""
    column = incidents.c
    query = select(incidents).where(column.open_key.is_not(None))
    return _stories(connection, query.order_by(column.changed_at.desc()).limit(limit))


def finished_incident_stories(connection: Connection, limit: int) -> list[IncidentStory]:
    """Return incidents that are over, the latest to open first, at most `limit`."""
    column = incidents.c
    query = select(incidents).where(column.state == IncidentState.RESOLVED)
    return _stories(connection, query.order_by(column.opened_at.desc()).limit(limit))


def incidents_beginning(connection: Connection, text: str, limit: int = 10) -> list[Incident]:
    """Return incidents whose id begins so, given in hexadecimal digits, the latest first."""
    low = UUID(hex=text.ljust(32, "0"))
    high = UUID(hex=text.ljust(32, "f"))
    column = incidents.c
    query = select(incidents).where(column.incident_id.between(low, high))
    rows = connection.execute(query.order_by(column.opened_at.desc()).limit(limit)).mappings()
    return [incident_of(row) for row in rows]


def withheld_about(connection: Connection, tx_hash: TxHash) -> list[WithheldChanges]:
    """Return why somebody was not notified of changes of a transaction, and how many these are."""
    column = notification_members.c
    of_hash = select(conditions.c.subject).where(conditions.c.tx_hash == tx_hash)
    counts = (
        select(column.channel, column.address, column.reason, func.count().label("many"))
        .join(transitions, transitions.c.transition_id == column.transition_id)
        .where(transitions.c.subject.in_(of_hash), column.notification_id.is_(None))
        .group_by(column.channel, column.address, column.reason)
        .order_by(column.channel, column.address, column.reason)
    )
    return [
        WithheldChanges(Recipient(row.channel, row.address), row.reason, row.many)
        for row in connection.execute(counts)
    ]


def respond(
    connection: Connection, incident_id: UUID, change: Callable[[Incident], IncidentResponse]
) -> IncidentResponse | None:
    """Change an incident as a person asked; None where it is not stored."""
    query = select(incidents).where(incidents.c.incident_id == incident_id).with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    response = change(incident_of(row))
    if response.event is not None:
        # The worker looks at once at what time does from now on.
        look_at = response.event.at if response.incident.is_open else None
        save_incident(connection, replace(response.incident, next_at=look_at))
        add_events(connection, [(incident_id, response.event)])
    return response


def _stories(connection: Connection, query: Select[Any]) -> list[IncidentStory]:
    found = [incident_of(row) for row in connection.execute(query).mappings()]
    ids = [each.incident_id for each in found]
    notified, withheld = _notified(connection, ids), _withheld(connection, ids)
    return [
        IncidentStory(
            each,
            tuple(incident_story(connection, each.incident_id)),
            tuple(notified[each.incident_id]),
            tuple(withheld[each.incident_id]),
        )
        for each in found
    ]


def _notified(
    connection: Connection, ids: Collection[UUID]
) -> defaultdict[UUID, list[NotifiedRecipient]]:
    column, pair = notifications.c, notification_incidents.c
    counts = (
        select(
            pair.incident_id,
            column.channel,
            column.address,
            column.state,
            func.count().label("many"),
            func.max(column.sent_at).label("last_sent"),
        )
        .join(notifications, column.notification_id == pair.notification_id)
        .where(pair.incident_id.in_(ids))
        .group_by(pair.incident_id, column.channel, column.address, column.state)
        .order_by(column.channel, column.address, column.state)
    )
    states: dict[tuple[UUID, Recipient], dict[NotificationState, int]] = defaultdict(dict)
    sent: dict[tuple[UUID, Recipient], datetime] = {}
    for row in connection.execute(counts):
        key = (row.incident_id, Recipient(row.channel, row.address))
        states[key][NotificationState(row.state)] = row.many
        if row.last_sent is not None:
            sent[key] = row.last_sent
    found: defaultdict[UUID, list[NotifiedRecipient]] = defaultdict(list)
    for (incident_id, recipient), counted in states.items():
        last = sent.get((incident_id, recipient))
        found[incident_id].append(NotifiedRecipient(recipient, counted, last))
    return found


def _withheld(
    connection: Connection, ids: Collection[UUID]
) -> defaultdict[UUID, list[WithheldChanges]]:
    column = notification_members.c
    counts = (
        select(
            column.incident_id,
            column.channel,
            column.address,
            column.reason,
            func.count().label("many"),
        )
        .where(column.incident_id.in_(ids), column.notification_id.is_(None))
        .group_by(column.incident_id, column.channel, column.address, column.reason)
        .order_by(column.channel, column.address, column.reason)
    )
    found: defaultdict[UUID, list[WithheldChanges]] = defaultdict(list)
    for row in connection.execute(counts):
        recipient = Recipient(row.channel, row.address)
        found[row.incident_id].append(WithheldChanges(recipient, row.reason, row.many))
    return found
