"""Incidents as people see them: open or resolved, with their story and who was notified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Select, case, exists, func, select, true

from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEvent,
    IncidentResponse,
    IncidentState,
)
from dashboard.domain.alerts.incident_timers import Upcoming
from dashboard.domain.alerts.inhibition import SourceOutage
from dashboard.domain.alerts.matcher import ChangeLabels, Matcher, labels_of, labels_of_group
from dashboard.domain.alerts.notification import NotificationKind, NotificationState, Recipient
from dashboard.domain.alerts.rule import URGENCY
from dashboard.domain.alerts.silence import Silence
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.alerts.incidents import (
    add_events,
    incident_events_of,
    most_urgent_first,
    of_network,
    read_incidents,
    save_incident,
)
from dashboard.store.alerts.outbox import entries_of_incident
from dashboard.store.engine.batching import equal, grouped, within
from dashboard.store.schema import (
    conditions,
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    transitions,
)
from dashboard.store.schema.columns import read_as

_MOST_ALIKE: Final = 10
_MOST_CHANGES: Final = 200


class NotifiedRecipient(Struct, frozen=True):
    """What one recipient got about an incident: how many notifications in each state."""

    recipient: Recipient
    states: dict[NotificationState, int]
    last_sent: datetime | None = None


class IncidentNotification(Struct, frozen=True):
    """One notification of an incident: to whom, why, in which state, and since when it is."""

    at: datetime
    recipient: Recipient
    kind: NotificationKind
    state: NotificationState


class WithheldChanges(Struct, frozen=True):
    """How many changes of an incident were withheld from one recipient, and why."""

    recipient: Recipient
    reason: str
    changes: int


class IncidentStory(Struct, frozen=True):
    """An incident with its whole history, and who was notified of what.

    It `is_told_by_others` if all of its recipients heard of its changes by another rule. `silence`
    withholds it from everybody now; None if nothing does. `upcoming` is when people are notified
    next even if nothing happens; None if they are not. `unknown` is why nobody knows whether it is
    ongoing; None if it is known. `inhibited` rules cannot be evaluated meanwhile.
    """

    incident: Incident
    events: tuple[IncidentEvent, ...]
    notified: tuple[NotifiedRecipient, ...]
    withheld: tuple[WithheldChanges, ...]
    is_told_by_others: bool = False
    silence: Silence | None = None
    upcoming: Upcoming | None = None
    unknown: SourceOutage | None = None
    inhibited: tuple[str, ...] = ()

    @property
    def state(self) -> IncidentState:
        """The state of the incident, the same for every reader."""
        if self.silence is not None and self.incident.state is IncidentState.FIRING:
            return IncidentState.SILENCED
        if self.unknown is not None and self.incident.state is IncidentState.FIRING:
            return IncidentState.NO_DATA
        return self.incident.state


class FinishedFilter(Struct, frozen=True):
    """Which resolved incidents to find: those that ended since a moment, of one rule if given."""

    since: datetime | None = None
    rule: str = ""
    severity: str = ""
    network_id: NetworkId | None = None


ANY_FINISHED: Final = FinishedFilter()


def open_incident_stories(
    connection: Connection, limit: int, network_id: NetworkId | None = None, offset: int = 0
) -> list[IncidentStory]:
    """Return incidents that are not resolved, of a network or all: at most `limit` from `offset`.

    The most urgent come first: by severity, then unacknowledged before acknowledged, then the
    oldest.
    """
    query = of_network(select(incidents).where(incidents.c.open_key.is_not(None)), network_id)
    ordered = query.order_by(*most_urgent_first())
    return _stories(connection, ordered.limit(limit).offset(offset))


def finished_incident_stories(
    connection: Connection, limit: int, wanted: FinishedFilter = ANY_FINISHED, offset: int = 0
) -> list[IncidentStory]:
    """Return resolved incidents, the latest to end first, at most `limit` from `offset` on."""
    column = incidents.c
    query = _finished(select(incidents), wanted)
    latest_first = query.order_by(column.resolved_at.desc(), column.incident_id)
    return _stories(connection, latest_first.limit(limit).offset(offset))


def count_finished_incidents(connection: Connection, wanted: FinishedFilter) -> int:
    counted = select(func.count()).select_from(incidents)
    return connection.scalar(_finished(counted, wanted)) or 0


def _finished(query: Select[Any], wanted: FinishedFilter) -> Select[Any]:
    column = incidents.c
    query = of_network(query.where(column.resolved_at.is_not(None)), wanted.network_id)
    return query.where(
        *within(column.resolved_at, wanted.since, None),
        *equal((column.rule, wanted.rule or None), (column.severity, wanted.severity or None)),
    )


def incident_story(connection: Connection, incident_id: UUID) -> IncidentStory | None:
    """Return one incident, open or resolved; None if it is not stored."""
    query = select(incidents).where(incidents.c.incident_id == incident_id)
    return next(iter(_stories(connection, query)), None)


def change_times(connection: Connection, incident_id: UUID, limit: int) -> list[datetime]:
    """Return the times of the latest changes of an incident, at most `limit`, the latest first."""
    pair, column = incident_transitions.c, transitions.c
    joined = transitions.join(incident_transitions, pair.transition_id == column.transition_id)
    query = select(column.at).select_from(joined)
    latest = query.where(pair.incident_id == incident_id).order_by(column.at.desc()).limit(limit)
    return list(connection.scalars(latest))


def notifications_of(
    connection: Connection, incident_id: UUID, limit: int
) -> list[IncidentNotification]:
    """Return the latest notifications of an incident, at most `limit`, the latest first."""
    column, pair = notifications.c, notification_incidents.c
    at = case((column.sent_at.is_(None), column.created_at), else_=column.sent_at).label("at")
    query = (
        select(at, column.channel, column.address, column.kind, column.state)
        .join(notification_incidents, column.notification_id == pair.notification_id)
        .where(pair.incident_id == incident_id)
        .order_by(at.desc(), column.channel, column.address)
        .limit(limit)
    )
    return [
        read_as(
            IncidentNotification,
            row,
            notifications,
            at=row.at,
            recipient=read_as(Recipient, row, notifications),
        )
        for row in connection.execute(query)
    ]


def incidents_beginning(connection: Connection, text: str) -> list[Incident]:
    """Return the latest incidents whose id begins with these hexadecimal digits."""
    low = UUID(hex=text.ljust(32, "0"))
    high = UUID(hex=text.ljust(32, "f"))
    column = incidents.c
    query = select(incidents).where(column.incident_id.between(low, high))
    return read_incidents(connection, query.order_by(column.opened_at.desc()).limit(_MOST_ALIKE))


def withheld_about(connection: Connection, tx_hash: TxHash) -> list[WithheldChanges]:
    """Return why somebody was not notified of changes of a transaction, and how many changes."""
    of_hash = select(conditions.c.subject).where(conditions.c.tx_hash == tx_hash)
    about = select(transitions.c.transition_id).where(transitions.c.subject.in_(of_hash))
    found = _withheld(connection, notification_members.c.transition_id.in_(about))
    return [each for _, each in found]


def withheld_in_all(connection: Connection) -> list[WithheldChanges]:
    """Return why somebody was not notified of changes of any kind, and how many changes."""
    return [each for _, each in _withheld(connection, true())]


def _withheld(
    connection: Connection, which: ColumnElement[bool], *by: ColumnElement[Any]
) -> Iterator[tuple[list[Any], WithheldChanges]]:
    """Yield the withheld changes, counted by recipient, reason and the value of `by`."""
    column = notification_members.c
    groups = column.channel, column.address, column.reason
    counts = (
        select(*groups, func.count(), *by)
        .where(which, column.notification_id.is_(None))
        .group_by(*groups, *by)
        .order_by(*groups)
    )
    for channel, address, reason, many, *values in connection.execute(counts):
        yield values, WithheldChanges(Recipient(channel, address), reason, many)


def incidents_within(connection: Connection, incident: Incident) -> list[Incident]:
    """Return the other open incidents whose every change is also part of this one.

    They are at most as urgent, have the same owner, and people are notified of them.
    """
    column, theirs, mine = incidents.c, incident_transitions.alias(), incident_transitions.alias()
    is_shared = exists().where(
        mine.c.incident_id == incident.incident_id, mine.c.transition_id == theirs.c.transition_id
    )
    is_theirs = theirs.c.incident_id == column.incident_id
    urgency = case(URGENCY, value=column.severity, else_=0)
    query = select(incidents).where(
        column.open_key.is_not(None),
        column.incident_id != incident.incident_id,
        column.transitions <= incident.transitions,
        column.state != IncidentState.PENDING,
        column.owner == incident.owner,
        urgency <= URGENCY.get(incident.severity, 0),
        exists().where(is_theirs, is_shared),
        ~exists().where(is_theirs, ~is_shared),
    )
    return read_incidents(connection, query.order_by(column.opened_at))


def respond(
    connection: Connection, incident_id: UUID, change: Callable[[Incident], IncidentResponse]
) -> IncidentResponse | None:
    """Change an incident as a person asks; None if it is not stored.

    If nobody owns it any more, an escalation that was withdrawn when somebody did counts for
    nothing: the incident is to escalate again.
    """
    query = select(incidents).where(incidents.c.incident_id == incident_id).with_for_update()
    found = read_incidents(connection, query)
    if not found:
        return None
    response = change(found[0])
    after, event = response.incident, response.event
    if event is None:
        return response
    if after.is_open and not after.owner and not _is_escalated(connection, incident_id):
        after = replace(after, escalated_at=None)
    # The worker acts at once on what time does from now on.
    save_incident(connection, replace(after, next_at=event.at if after.is_open else None))
    add_events(connection, [(incident_id, event)])
    return replace(response, incident=after)


def _is_escalated(connection: Connection, incident_id: UUID) -> bool:
    """Whether a notification that is not dead tells somebody that nobody acknowledged it."""
    column, pair = notifications.c, notification_incidents.c
    escalation = (
        select(pair.notification_id)
        .join(notifications, column.notification_id == pair.notification_id)
        .where(pair.incident_id == incident_id, pair.is_escalation)
        .where(column.state != NotificationState.DEAD)
    )
    return connection.scalar(escalation.limit(1)) is not None


def _stories(connection: Connection, query: Select[Any]) -> list[IncidentStory]:
    found = read_incidents(connection, query)
    ids = [each.incident_id for each in found]
    notified, events = _notified(connection, ids), incident_events_of(connection, ids)
    of_incident = notification_members.c.incident_id
    withheld = grouped(
        (of, each) for [of], each in _withheld(connection, of_incident.in_(ids), of_incident)
    )
    untold = [each for each in ids if not (notified[each] or withheld[each])]
    others = _told_by_others(connection, untold)
    return [
        IncidentStory(
            incident,
            tuple(events[incident.incident_id]),
            tuple(notified[incident.incident_id]),
            tuple(withheld[incident.incident_id]),
            incident.incident_id in others,
        )
        for incident in found
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
    return grouped(
        (of, NotifiedRecipient(recipient, counted, sent.get((of, recipient))))
        for (of, recipient), counted in states.items()
    )


def _told_by_others(connection: Connection, ids: Collection[UUID]) -> set[UUID]:
    """Return which of these incidents have changes that were sent about other incidents."""
    column, member, pair = notifications.c, notification_members.c, incident_transitions.c
    told = (
        select(pair.incident_id)
        .join(notification_members, member.transition_id == pair.transition_id)
        .join(notifications, column.notification_id == member.notification_id)
        .where(pair.incident_id.in_(ids), column.state == NotificationState.SENT)
    )
    return set(connection.scalars(told.distinct())) if ids else set()


def labels_of_incident(
    connection: Connection, incident: Incident, matchers: Iterable[Matcher]
) -> list[ChangeLabels]:
    """Return the label sets that a matcher must all fit in order to fit an incident as a whole.

    That is the label set of its group, unless a matcher names another property, such as a tag: then
    it is those of its latest changes, at most 200.
    """
    rule = incident.rule, incident.severity
    shared = labels_of_group(incident.group, *rule)
    if all(each.about in shared for each in matchers):
        return [shared]
    entries = entries_of_incident(connection, incident.incident_id, _MOST_CHANGES)
    each_labels = [labels_of(entry.change, *rule) for entry in entries]
    return [labels for at, labels in enumerate(each_labels) if labels not in each_labels[:at]] or [
        shared
    ]
