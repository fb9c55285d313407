"""Grouping: transitions open or join incidents, and each notifies a recipient once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, insert

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.holding import RuleRoute, route_for
from dashboard.domain.alerts.hourly_cap import LARGEST_MEMBERS, precedence_of
from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
    grow,
    incident_key,
    open_incident,
)
from dashboard.domain.alerts.incident_timers import timed
from dashboard.domain.alerts.notification import NotificationState, Precedence, Recipient
from dashboard.domain.people.recipients import RecipientDirectory, mailbox_of
from dashboard.store.alerts.alert_status import needless
from dashboard.store.alerts.growing_notifications import (
    GrowingNotification,
    Place,
    growing_notification,
    held_with_earlier,
    save_grown,
)
from dashboard.store.alerts.incidents import (
    add_events,
    has_joined,
    insert_incident,
    open_incident_by_key,
    opening_of,
    save_incident,
)
from dashboard.store.alerts.notifications import (
    member_row,
    notification_id_of,
    reached_by,
    say_unreached,
    waiting_row,
)
from dashboard.store.alerts.reminders_and_escalations import (
    forget_withheld,
    notified_of,
    withdraw,
)
from dashboard.store.alerts.sooner_routes import release_sooner
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    incident_transitions,
    notification_incidents,
    notification_members,
    notifications,
)

NEVER_FIRED: Final = "before its pending period ended, so nobody is notified"
"""How the story describes the end of an incident that was still pending."""


class _GrowingIncident(Struct):
    """An incident as it is now and as it was read; the latter is None if it is new.

    `was_pending`: nobody was to be notified of it before its last transition.
    """

    now: Incident
    before: Incident | None
    was_pending: bool = False

    @property
    def never_fired(self) -> bool:
        """Whether it ended while it was pending."""
        return not self.now.is_open and self.was_pending


class _Change(Struct, frozen=True):
    """A transition at its place in the outbox, and for how long its notification takes members.

    `is_first`: nobody was notified of its incident before.
    """

    transition: Transition
    position: int
    state: NotificationState = NotificationState.PENDING
    wait: timedelta = timedelta()
    is_first: bool = False


class IncidentGrouping:
    """The incidents and notifications that some transitions make, all written at the end."""

    def __init__(
        self, connection: Connection, now: datetime, domain: str, directory: RecipientDirectory
    ) -> None:
        """Begin with nothing; `domain` is the domain of the Message-IDs."""
        self._domain = domain
        self._connection = connection
        self._now = now
        self._incidents: dict[str, _GrowingIncident] = {}
        self._over: list[_GrowingIncident] = []
        self._ended: set[str] = set()
        self._open: dict[Place, GrowingNotification | None] = {}
        self._touched: list[GrowingNotification] = []
        self._growth: list[tuple[UUID, UUID]] = []
        self._new: list[dict[str, Any]] = []
        self._members: list[dict[str, Any]] = []
        self._unreached: list[tuple[UUID, RuleRoute]] = []
        self._directory = directory

    def take(
        self, transition: Transition, position: int, routes: Sequence[RuleRoute], *, is_held: bool
    ) -> None:
        """Add a transition to an incident by each route; notify each recipient by the soonest."""
        state = NotificationState.HELD if is_held else NotificationState.PENDING
        heard: list[tuple[RuleRoute, Recipient, Incident, _Change]] = []
        for route in sorted(routes, key=lambda each: each.rank):
            found, is_new = self._grown(transition, route)
            if found.never_fired:
                self._unreached.append((found.now.incident_id, route))
            elif found.now.state is not IncidentState.PENDING:
                wait = route.wait_for(transition, is_new=is_new)
                change = _Change(transition, position, state, wait, is_new)
                told = self._with_notified(found.now, route)
                heard += [(one, to, found.now, change) for to, one in self._to_each(told)]
        reached: set[Recipient] = set()
        for one, to, incident, change in sorted(heard, key=lambda each: each[0].rank):
            self._notify(incident, change, one, to, reached)

    def _to_each(self, route: RuleRoute) -> list[tuple[Recipient, RuleRoute]]:
        """Return each recipient of a route with the route to them, which their hours may hold."""
        return [
            (each, route_for(each, route, self._directory, self._now)) for each in route.recipients
        ]

    def _with_notified(self, incident: Incident, route: RuleRoute) -> RuleRoute:
        """Add everybody who was notified of an incident to those who hear of its end."""
        if incident.is_open:
            return route
        withdraw(self._connection, incident)
        others = notified_of(self._connection, incident)
        return replace(route, recipients=(*route.recipients, *others))

    def fire(
        self,
        incident: Incident,
        lasting: Sequence[tuple[Transition, int, RuleRoute]],
        *,
        was_pending: bool,
    ) -> set[Recipient]:
        """Notify of the ongoing conditions of an incident; `lasting` are its last transitions.

        Nobody is notified of a condition that ended while the incident was pending. What withheld
        one of these before counts no more, such as a silence that is over, or of another rule; what
        another rule holds longer goes now. Return the recipients whom one of these reached already:
        each transition reaches each recipient once.
        """
        if was_pending:
            self._unreached += [(incident.incident_id, route) for *_, route in lasting]
        others: set[Recipient] = set()
        for transition, position, route in lasting:
            forget_withheld(self._connection, transition.transition_id, route.recipients)
            before = reached_by(self._connection, transition.transition_id)
            known = {mailbox_of(each): each for each in before}
            change, reached = _Change(transition, position, is_first=True), set(known)
            for to, one in self._to_each(route):
                written = known.get(mailbox_of(to))
                if written is None:
                    self._notify(incident, change, one, to, reached)
                elif not one.withheld:
                    place = incident.incident_id, transition, written
                    if not release_sooner(self._connection, *place, one, self._now):
                        others.add(to)
        return others

    def _notify(
        self,
        incident: Incident,
        change: _Change,
        route: RuleRoute,
        recipient: Recipient,
        reached: set[Recipient],
    ) -> None:
        """Notify a recipient of a transition by a route, unless `reached` has their mailbox."""
        if mailbox_of(recipient) in reached:
            return
        reached.add(mailbox_of(recipient))
        reason = route.withheld or self._directory.withheld(recipient)
        reason = reason or needless(self._connection, recipient, change.transition)
        if reason:
            self._add_member(incident.incident_id, recipient, change, reason=reason)
            return
        if not incident.is_open:
            about = incident.incident_id, recipient
            route = held_with_earlier(self._connection, *about, route, self._now)
        state, until = change.state, route.held_until
        place = (incident.incident_id, recipient, state, until, route.held_by)
        self._reach(place, change, route)

    def write(self) -> int:
        """Write everything; return how many members were added to notifications."""
        changed = [*self._over, *self._incidents.values()]
        for each in changed:
            if each.before is None:
                insert_incident(self._connection, each.now)
            elif each.now is not each.before:
                save_incident(self._connection, each.now)
        self._continue_stories(changed)
        joined = [{"incident_id": one, "transition_id": other} for one, other in self._growth]
        insert_all_new(self._connection, incident_transitions, joined)
        if self._new:
            self._connection.execute(insert(notifications), self._new)
        for grouped in self._touched:
            save_grown(self._connection, grouped)
        if self._members:
            self._connection.execute(insert(notification_members), self._members)
        sent = [each for each in self._members if each["notification_id"] is not None]
        pairs = sorted({(each["notification_id"], each["incident_id"]) for each in sent})
        rows = [{"notification_id": one, "incident_id": other} for one, other in pairs]
        insert_all_new(self._connection, notification_incidents, rows)
        for incident_id, route in self._unreached:
            say_unreached(self._connection, incident_id, route)
        return len(sent)

    def _grown(self, transition: Transition, route: RuleRoute) -> tuple[_GrowingIncident, bool]:
        """Return the incident that a transition joins or opens, and whether nobody heard of it.

        That is so if the transition opens it, or if all of its rejections were silenced until now.
        """
        key = incident_key(route.rule, route.group)
        found = self._incidents.get(key)
        if found is None and key not in self._ended:  # the store still shows an ended one as open
            stored = open_incident_by_key(self._connection, key)
            found = None if stored is None else _GrowingIncident(stored, stored)
        is_new = found is None
        if found is None:
            begun = open_incident(
                transition,
                rule=route.rule,
                kind=route.kind,
                severity=route.severity,
                group=route.group,
                quiet_after=route.timers.quiet_after,
                pending=route.timers.pending,
            )
            found = _GrowingIncident(begun, None, was_pending=bool(route.timers.pending))
        else:
            found.was_pending = found.now.state is IncidentState.PENDING
            is_new = found.now.state is IncidentState.SILENCED and not found.now.troubled
            is_counted = self._counted(found.now, transition)
            found.now = grow(found.now, transition, route.timers.quiet_after, is_counted=is_counted)
        found.now = _watched(found.now, route, self._now, is_new=is_new)
        self._growth.append((found.now.incident_id, transition.transition_id))
        if found.now.is_open:
            self._incidents[key] = found
        else:
            self._incidents.pop(key, None)
            self._over.append(found)
            self._ended.add(key)
        return found, is_new

    def _counted(self, incident: Incident, transition: Transition) -> bool:
        """Whether a transition ends a network's trouble that began here, or ends none."""
        if transition.subject.tx_hash is not None or transition.after.is_open:
            return True
        mine, opening_id = incident.incident_id, opening_of(self._connection, transition)
        is_known = opening_id is None or (mine, opening_id) in self._growth
        return is_known or has_joined(self._connection, mine, opening_id)

    def _reach(self, place: Place, change: _Change, route: RuleRoute) -> None:
        """Add a transition to a recipient's open notification, or open one."""
        incident_id, recipient, *_ = place
        growing = self._open_notification(place, route)
        if growing is None or growing.members >= LARGEST_MEMBERS:
            growing = self._begin(place, change, route)
        growing.take(_precedence(change, route), is_urgent=route.is_urgent)
        joined = growing.notification_id
        self._add_member(incident_id, recipient, change, notification_id=joined)

    def _add_member(
        self,
        incident_id: UUID,
        recipient: Recipient,
        change: _Change,
        *,
        notification_id: UUID | None = None,
        reason: str = "",
    ) -> None:
        place = incident_id, change.transition.transition_id, change.position
        row = member_row(recipient, *place, notification_id=notification_id, reason=reason)
        self._members.append(row)

    def _open_notification(self, place: Place, route: RuleRoute) -> GrowingNotification | None:
        if place not in self._open:
            latest = self._now + route.group_wait
            found = self._open[place] = growing_notification(self._connection, place, latest)
            self._touched += [found] if found else []
        return self._open[place]

    def _begin(self, place: Place, change: _Change, route: RuleRoute) -> GrowingNotification:
        _, recipient, state, held_until, _ = place
        release_at = max(self._now + change.wait, held_until or self._now)
        transition_id = change.transition.transition_id
        notification_id = notification_id_of(transition_id, recipient)
        row = waiting_row(
            *(self._connection, notification_id, recipient, self._domain),
            now=self._now,
            release_at=release_at,
        )
        self._new.append(
            row
            | {
                "transition_id": transition_id,
                "position": change.position,
                "is_urgent": route.is_urgent,
                "precedence": _precedence(change, route),
                "held_for": route.held_for,
                "held_by": route.held_by,
                "state": state,
            }
        )
        begun = self._open[place] = GrowingNotification(notification_id)
        self._touched.append(begun)
        return begun

    def _continue_stories(self, changed: Sequence[_GrowingIncident]) -> None:
        """Add to the story of each incident that it opened, how much it grew, and its end."""
        events: list[tuple[UUID, IncidentEvent]] = []
        for each in changed:
            incident = each.now
            grown = incident.transitions - (0 if each.before is None else each.before.transitions)
            kind = IncidentEventKind.OPENED if each.before is None else IncidentEventKind.GREW
            events.append((incident.incident_id, IncidentEvent(self._now, kind, grown)))
            if not incident.is_open:
                note = NEVER_FIRED if each.never_fired else ""
                ended = IncidentEvent(self._now, IncidentEventKind.RESOLVED, note=note)
                events.append((incident.incident_id, ended))
        add_events(self._connection, events)


def _precedence(change: _Change, route: RuleRoute) -> Precedence:
    return precedence_of(change.transition, route.severity, is_first=change.is_first)


def _watched(incident: Incident, route: RuleRoute, now: datetime, *, is_new: bool) -> Incident:
    """Set when time will change an incident next; one that is withheld, or was due, is due now."""
    if not incident.is_open or incident.state is IncidentState.PENDING:
        return incident
    if route.withheld:
        state = IncidentState.SILENCED if is_new else incident.state
        return replace(incident, state=state, next_at=now)
    if incident.state is IncidentState.SILENCED:
        incident = replace(incident, state=IncidentState.FIRING)
    was_due = incident.next_at is not None and incident.next_at <= now
    timed_anew = timed(incident, route.timers)
    return replace(timed_anew, next_at=now) if was_due else timed_anew
