"""Gathering: transitions join incidents, and what still gathers for each recipient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Table, insert, select, update

from dashboard.domain.condition import SubjectKind, Transition
from dashboard.domain.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
    grow,
    incident_key,
    open_incident,
)
from dashboard.domain.incident_timers import timed
from dashboard.domain.notification import NotificationState, Recipient
from dashboard.domain.notification_pace import LARGEST_MEMBERS
from dashboard.domain.route import RuleRoute
from dashboard.store.alerts.addresses_off import list_addresses_off
from dashboard.store.alerts.incidents import (
    add_events,
    insert_incident,
    open_incident_by_key,
    save_incident,
)
from dashboard.store.alerts.notifications import message_id_of, notification_id_of
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    incident_transitions,
    notification_incidents,
    notification_members,
    notifications,
)

_Place: TypeAlias = tuple[UUID, Recipient, NotificationState, datetime | None]
"""An incident, a recipient, whether what is gathered for them is pending or held since a restore,
and until when maintenance holds it."""


@dataclass(slots=True)
class _GrowingIncident:
    """An incident as it is now, and as it was read; None where it is new."""

    now: Incident
    before: Incident | None


@dataclass(slots=True)
class _GrowingNotification:
    """A notification that gathers, and how many members it had and has."""

    notification_id: UUID
    before: int
    members: int


@dataclass(frozen=True, slots=True)
class _Member:
    """One change for one recipient."""

    incident_id: UUID
    recipient: Recipient
    transition_id: UUID
    position: int

    def row(self, notification_id: UUID | None = None, reason: str = "") -> dict[str, Any]:
        """Return the row: in a notification, or why in none."""
        return {
            "transition_id": self.transition_id,
            "channel": self.recipient.channel,
            "address": self.recipient.address,
            "position": self.position,
            "incident_id": self.incident_id,
            "notification_id": notification_id,
            "reason": reason,
        }


class Gathering:
    """What one transaction makes of some transitions, written at its end."""

    def __init__(self, connection: Connection, now: datetime, domain: str) -> None:
        """Begin with nothing; Message-IDs stand below `domain`."""
        self._domain = domain
        self._connection = connection
        self._now = now
        self._incidents: dict[str, _GrowingIncident] = {}
        self._over: list[_GrowingIncident] = []
        self._open: dict[_Place, _GrowingNotification | None] = {}
        self._touched: list[_GrowingNotification] = []
        self._growth: list[tuple[UUID, UUID]] = []
        self._new: list[dict[str, Any]] = []
        self._members: list[dict[str, Any]] = []
        self._off = {each.recipient: each.reason for each in list_addresses_off(connection)}

    def take(
        self, transition: Transition, position: int, routes: Sequence[RuleRoute], *, is_held: bool
    ) -> None:
        """Let a transition join an incident by each route, and reach each recipient once."""
        state = NotificationState.HELD if is_held else NotificationState.PENDING
        reached: set[Recipient] = set()
        for route in sorted(routes, key=lambda each: bool(each.withheld)):
            incident, is_new = self._grown(transition, route)
            for recipient in route.recipients:
                if recipient in reached:
                    continue
                reached.add(recipient)
                reason = route.withheld or self._off.get(recipient, "")
                if reason:
                    member = _Member(
                        incident.incident_id, recipient, transition.transition_id, position
                    )
                    self._members.append(member.row(reason=reason))
                    continue
                place = (incident.incident_id, recipient, state, route.held_until)
                wait = _wait(transition, route, is_new=is_new)
                self._reach(place, transition, position, wait, route)

    def write(self) -> int:
        """Write it all; return how many members notifications got."""
        changed = [*self._over, *self._incidents.values()]
        for each in changed:
            if each.before is None:
                insert_incident(self._connection, each.now)
            elif each.now is not each.before:
                save_incident(self._connection, each.now)
        self._tell(changed)
        self._insert(incident_transitions, ("incident_id", "transition_id"), self._growth)
        if self._new:
            self._connection.execute(insert(notifications), self._new)
        for gathered in self._touched:
            if gathered.members != gathered.before:
                mine = notifications.c.notification_id == gathered.notification_id
                grown = update(notifications).where(mine).values(members=gathered.members)
                self._connection.execute(grown)
        if self._members:
            self._connection.execute(insert(notification_members), self._members)
        pairs = {
            (each["notification_id"], each["incident_id"])
            for each in self._members
            if each["notification_id"] is not None
        }
        self._insert(notification_incidents, ("notification_id", "incident_id"), sorted(pairs))
        return sum(each["notification_id"] is not None for each in self._members)

    def _grown(self, transition: Transition, route: RuleRoute) -> tuple[Incident, bool]:
        """Return the incident that a transition joins or opens, and whether it opens it."""
        key = incident_key(route.rule, route.group)
        found = self._incidents.get(key)
        if found is None:
            stored = open_incident_by_key(self._connection, key)
            found = None if stored is None else _GrowingIncident(stored, stored)
        is_new = found is None
        if found is None:
            begun = open_incident(
                route.rule, route.severity, route.group, transition, route.quiet_after
            )
            found = _GrowingIncident(begun, None)
        else:
            found.now = grow(found.now, transition, route.quiet_after)
        found.now = _watched(found.now, route, self._now, is_new=is_new)
        self._growth.append((found.now.incident_id, transition.transition_id))
        if found.now.is_open:
            self._incidents[key] = found
        else:
            self._incidents.pop(key, None)
            self._over.append(found)
        return found.now, is_new

    def _reach(
        self,
        place: _Place,
        transition: Transition,
        position: int,
        wait: timedelta,
        route: RuleRoute,
    ) -> None:
        """Let a transition join what gathers for a recipient, or begin a notification."""
        incident_id, recipient, *_ = place
        gathering = self._gathering(place, route)
        if gathering is None or gathering.members >= LARGEST_MEMBERS:
            gathering = self._begin(place, transition, position, wait, route)
        gathering.members += 1
        member = _Member(incident_id, recipient, transition.transition_id, position)
        self._members.append(member.row(notification_id=gathering.notification_id))

    def _gathering(self, place: _Place, route: RuleRoute) -> _GrowingNotification | None:
        if place not in self._open:
            found = self._open[place] = self._stored(place, route)
            self._touched += [found] if found else []
        return self._open[place]

    def _stored(self, place: _Place, route: RuleRoute) -> _GrowingNotification | None:
        """Return the latest notification of an incident that nobody has claimed.

        What maintenance holds joins only what is held as long, and nothing else joins that.
        """
        incident_id, recipient, state, held_until = place
        column = notifications.c
        is_released_alike = (
            column.release_at <= self._now + route.group_wait
            if held_until is None
            else column.release_at >= held_until
        )
        query = (
            select(column.notification_id, column.members)
            .join(
                notification_incidents,
                notification_incidents.c.notification_id == column.notification_id,
            )
            .where(notification_incidents.c.incident_id == incident_id)
            .where(column.channel == recipient.channel, column.address == recipient.address)
            .where(column.state == state, column.closed_at.is_(None), is_released_alike)
            .order_by(column.position.desc())
            .limit(1)
            .with_for_update(of=notifications)
        )
        row = self._connection.execute(query).one_or_none()
        return (
            None
            if row is None
            else _GrowingNotification(row.notification_id, row.members, row.members)
        )

    def _begin(
        self,
        place: _Place,
        transition: Transition,
        position: int,
        wait: timedelta,
        route: RuleRoute,
    ) -> _GrowingNotification:
        _, recipient, state, held_until = place
        release_at = max(self._now + wait, held_until or self._now)
        notification_id = notification_id_of(transition.transition_id, recipient)
        self._new.append(
            {
                "notification_id": notification_id,
                "transition_id": transition.transition_id,
                "position": position,
                "channel": recipient.channel,
                "address": recipient.address,
                "message_id": message_id_of(notification_id, self._domain),
                "is_urgent": route.is_urgent,
                "created_at": self._now,
                "release_at": release_at,
                "state": state,
                "attempts": 0,
                "next_attempt_at": release_at,
                "outcome": "",
            }
        )
        begun = self._open[place] = _GrowingNotification(notification_id, 0, 0)
        self._touched.append(begun)
        return begun

    def _tell(self, changed: Sequence[_GrowingIncident]) -> None:
        """Continue the story of each incident: that it opened, by how much it grew, its end."""
        events: list[tuple[UUID, IncidentEvent]] = []
        for each in changed:
            incident = each.now
            grown = incident.transitions - (0 if each.before is None else each.before.transitions)
            kind = IncidentEventKind.OPENED if each.before is None else IncidentEventKind.GREW
            events.append((incident.incident_id, IncidentEvent(self._now, kind, grown)))
            if not incident.is_open:
                ended = IncidentEvent(self._now, IncidentEventKind.RESOLVED)
                events.append((incident.incident_id, ended))
        add_events(self._connection, events)

    def _insert(
        self, table: Table, names: tuple[str, str], pairs: Sequence[tuple[UUID, UUID]]
    ) -> None:
        rows = [dict(zip(names, pair, strict=True)) for pair in pairs]
        insert_all_new(self._connection, table, rows)


def _watched(incident: Incident, route: RuleRoute, now: datetime, *, is_new: bool) -> Incident:
    """Set when time changes an incident next; one that is withheld is looked at now."""
    if not incident.is_open:
        return incident
    if route.withheld:
        return replace(incident, next_at=now) if is_new else incident
    if incident.state is IncidentState.SILENCED:
        incident = replace(incident, state=IncidentState.FIRING)
    return timed(incident, route.timers)


def _wait(transition: Transition, route: RuleRoute, *, is_new: bool) -> timedelta:
    """Return how long a notification that begins with a transition gathers others.

    Not at all where it opens its incident, or says how things stand with a network. A new version
    of a rejection is never urgent: the rejection itself was notified.
    """
    is_of_transaction = transition.subject.kind is SubjectKind.TRANSACTION
    if is_of_transaction and (not is_new or transition.before is not None):
        return route.group_wait
    return timedelta()
