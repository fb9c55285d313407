"""What time does to incidents: they fire, end, are repeated, escalate, and silences end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.detect.routing import (
    hold_all,
    in_maintenance,
    route_of_incident,
    routes_of,
    timers_of,
    withhold,
)
from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.holding import BY_QUIET_HOURS, RuleRoute, route_for, window_key
from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
)
from dashboard.domain.alerts.incident_timers import (
    NO_DATA_PERIOD,
    IncidentChange,
    IncidentTimers,
    end_silence,
    fire,
    lose_data,
    no_later_than,
    pass_time,
    regain_data,
    silence,
    timed,
)
from dashboard.domain.alerts.inhibition import SourceOutage, outage_behind
from dashboard.domain.alerts.matcher import ChangeLabels, MatchedProperty, labels_of
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.rule import ObservedChange, Rule
from dashboard.domain.alerts.silence import Silence, silenced_all_by
from dashboard.domain.people.recipients import RecipientDirectory
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.closings import HeldNotification, held_notifications, hold_until
from dashboard.store.alerts.first_messages import awaited_at, reached_at
from dashboard.store.alerts.grouping import IncidentGrouping
from dashboard.store.alerts.incident_list import labels_of_incident
from dashboard.store.alerts.incidents import add_events, due_incidents, save_incident
from dashboard.store.alerts.outbox import changes_of_notification, entries_of_incident
from dashboard.store.alerts.reminders_and_escalations import (
    Repetition,
    notified_of,
    repeat,
    silenced_in,
    withdraw,
)
from dashboard.store.engine.connection import Connection

_AT_ONCE: Final = 50
_REPEATED: Final = {
    IncidentEventKind.REMINDED: NotificationKind.REMINDER,
    IncidentEventKind.ESCALATED: NotificationKind.ESCALATION,
}


class IncidentClock(Struct, frozen=True):
    """The moment, and what is in force at it; `sources` are the silent sources behind rules."""

    now: datetime
    rules: Mapping[str, Rule]
    silences: Sequence[Silence]
    directory: RecipientDirectory
    domain: str
    sources: Sequence[SourceOutage] = ()

    @property
    def everyone(self) -> Sequence[Recipient]:
        """The recipients of rules that name nobody."""
        return self.directory.configured.named

    def act(self, connection: Connection) -> None:
        """Act on the incidents that are due, a few hundred at most."""
        for stored in due_incidents(connection, self.now, _AT_ONCE):
            incident = no_later_than(stored, self.now)
            if not incident.is_open:
                self._say_closed(connection, incident)
            elif incident.state is IncidentState.PENDING:
                self._fire(connection, stored)
            else:
                self._pass_time(connection, incident)

    def release_early(self, connection: Connection, after: UUID | None) -> UUID | None:
        """Release the next few that only windows hold which a person ended, or which are over.

        What another window, or quiet hours, hold now waits for their end. Return after which one
        to go on, None after the last.
        """
        lasting = {window_key(each.silence_id) for each in self.silences}
        held = held_notifications(connection, self.now, after, _AT_ONCE)
        for each in held:
            windows = {key for key in each.held_by.split() if key != BY_QUIET_HOURS}
            if windows <= lasting:
                continue
            hold_until(connection, each, self._held_again(connection, each), self.now)
        return held[-1].notification_id if held else None

    def route_of(self, incident: Incident, change: ObservedChange) -> RuleRoute:
        """Return the route by which a change of an incident is notified of now."""
        zones = self.directory.configured.zones
        route = route_of_incident(self.rules.get(incident.rule), incident, self.now, zones)
        return withhold(route, change, self.silences, self.now, zones)

    def _held_again(self, connection: Connection, held: HeldNotification) -> RuleRoute:
        """Return until when something is now held: as long as the last of its changes is."""
        incident, rule = held.incident, self.rules.get(held.incident.rule)
        now, zones = self.now, self.directory.configured.zones
        route = route_of_incident(rule, incident, now, zones)
        if held.is_of_changes:
            changes = changes_of_notification(connection, held.notification_id)
            each_labels = [labels_of(each, incident.rule, incident.severity) for each in changes]
            routes = [
                in_maintenance(route, each, self.silences, now, zones) for each in each_labels
            ]
        else:
            each_labels = self._labels_of(connection, incident)
            routes = [hold_all(route, each_labels, self.silences, now, zones)]
        mine = [route_for(held.recipient, each, self.directory, now) for each in routes]
        return max(mine, key=lambda each: each.held_until or now, default=route)

    def _say_closed(self, connection: Connection, incident: Incident) -> None:
        """Notify everybody who knows of an incident that its rule no longer reports it."""
        save_incident(connection, replace(incident, next_at=None))
        withdraw(connection, incident)
        notified = notified_of(connection, incident)
        each_labels = self._labels_of(connection, incident)
        note = self._repetition(NotificationKind.CLOSED, incident, each_labels)
        repeat(connection, incident, note, notified)

    def _fire(self, connection: Connection, incident: Incident) -> None:
        """Make a pending incident fire, and notify of its ongoing conditions."""
        rule = self.rules.get(incident.rule)
        silent = str(self._source_of(incident) or "")
        after, event = fire(incident, timers_of(rule), self.now, silent)
        lasting: list[tuple[Transition, int, RuleRoute]] = []
        if rule is not None and after.state is IncidentState.FIRING:
            lasting = list(self._lasting(connection, incident, rule))
        if any(route.withheld for *_, route in lasting):
            after = replace(after, next_at=self.now)
        save_incident(connection, after)
        add_events(connection, [(after.incident_id, event)])
        grouping = IncidentGrouping(connection, self.now, self.domain, self.directory)
        others = grouping.fire(after, lasting, was_pending=True)
        grouping.write()
        each_labels = self._labels_of(connection, incident)
        reminder = self._repetition(NotificationKind.REMINDER, incident, each_labels)
        repeat(connection, after, reminder, others)

    def _lasting(
        self, connection: Connection, incident: Incident, rule: Rule
    ) -> Iterator[tuple[Transition, int, RuleRoute]]:
        """Yield the last change of each subject that is still in trouble, with its routes."""
        entries = entries_of_incident(connection, incident.incident_id)
        for each in {entry.transition.subject: entry for entry in entries}.values():
            if not each.transition.after.is_open:
                continue
            zones = self.directory.configured.zones
            for route in routes_of([rule], each.change, self.everyone, self.now, zones):
                now_routed = withhold(route, each.change, self.silences, self.now, zones)
                yield each.transition, each.position, now_routed

    def _pass_time(self, connection: Connection, incident: Incident) -> None:
        rule = self.rules.get(incident.rule)
        timers, named = timers_of(rule), () if rule is None else rule.recipients or self.everyone
        reached = reached_at(connection, incident, named)
        known_at = reached or awaited_at(connection, incident, named, self.now)
        if known_at is not None:  # no reminder or escalation comes before the first message
            incident = replace(incident, notified_at=min(known_at, self.now))
        each_labels = self._labels_of(connection, incident)
        found = silenced_all_by(self.silences, each_labels, self.now)
        after, event = self._changed(incident, timers, found) or (incident, None)
        silent_until = None if found is None else found.over_at
        after = self._timed(after, timers, silent_until)
        save_incident(connection, after if reached else replace(after, notified_at=None))
        newly, least_apart = set(), (timers.remind_every or timedelta()) / 2
        if incident.state is IncidentState.SILENCED and after.state is IncidentState.FIRING:
            newly, least_apart = self._end_silence(connection, after), timedelta()
        elif after.state is IncidentState.FIRING and after.troubled:
            self._tell_silenced(connection, after)
        if event is None:
            return
        said = self._repeat(connection, after, event, each_labels, newly, least_apart)
        if said is not None:
            add_events(connection, [(after.incident_id, said)])

    def _end_silence(self, connection: Connection, incident: Incident) -> set[Recipient]:
        """Notify those from whom a silence withheld ongoing conditions of an incident."""
        rule = self.rules.get(incident.rule)
        if rule is None:
            return set()
        lasting = list(self._lasting(connection, incident, rule))
        grouping = IncidentGrouping(connection, self.now, self.domain, self.directory)
        others = grouping.fire(incident, lasting, was_pending=False)
        grouping.write()
        named = rule.recipients or self.everyone
        return {each for each in named if each not in others and not self.directory.withheld(each)}

    def _tell_silenced(self, connection: Connection, incident: Incident) -> None:
        """Notify of what lasts if a silence withheld it that is over, but not of all the rest."""
        rule = self.rules.get(incident.rule)
        if rule is None:
            return
        silenced = silenced_in(connection, incident, rule.recipients or self.everyone)
        if not silenced:
            return
        lasting = [
            each
            for each in self._lasting(connection, incident, rule)
            if each[0].transition_id in silenced and not each[2].withheld
        ]
        grouping = IncidentGrouping(connection, self.now, self.domain, self.directory)
        grouping.fire(incident, lasting, was_pending=False)
        grouping.write()

    def _changed(
        self, incident: Incident, timers: IncidentTimers, found: Silence | None
    ) -> IncidentChange | None:
        if found is not None:
            return silence(incident, timers, self.now)
        source = self._source_of(incident)
        if incident.state is IncidentState.SILENCED and incident.troubled:
            if source is None:
                return end_silence(incident, timers, self.now)
            incident = replace(incident, state=IncidentState.FIRING)  # as far as anybody knew
        if source is not None and incident.troubled:
            return lose_data(incident, str(source), self.now)
        if incident.state is IncidentState.NO_DATA:
            return regain_data(incident, timers, self.now)
        return pass_time(incident, timers, self.now)

    def _timed(
        self, incident: Incident, timers: IncidentTimers, silent_until: datetime | None
    ) -> Incident:
        """Return an incident with the time at which it is checked next."""
        if incident.state is IncidentState.NO_DATA:
            return replace(incident, next_at=self.now + NO_DATA_PERIOD)
        return timed(incident, timers, silent_until)

    def _source_of(self, incident: Incident) -> SourceOutage | None:
        """Return the source that an incident rests on, if it is silent."""
        rule = self.rules.get(incident.rule)
        network = dict(incident.group).get(MatchedProperty.NETWORK)
        if rule is None or network is None:
            return None
        return outage_behind(rule.kind, NetworkId(int(network)), self.sources)

    def _labels_of(self, connection: Connection, incident: Incident) -> list[ChangeLabels]:
        """Return the label sets that a silence or window must all fit to fit the whole incident."""
        matchers = (matcher for each in self.silences for matcher in each.request.matchers)
        return labels_of_incident(connection, incident, matchers)

    def _repeat(
        self,
        connection: Connection,
        incident: Incident,
        event: IncidentEvent,
        each_labels: Sequence[ChangeLabels],
        newly: Collection[Recipient],
        least_apart: timedelta,
    ) -> IncidentEvent | None:
        """Notify of an incident again; return the line of its story, None if nobody is notified.

        Those who are `newly` notified of it need no reminder, nor those who got a message about it
        within `least_apart`.
        """
        rule, kind = self.rules.get(incident.rule), _REPEATED.get(event.kind)
        if rule is None or kind is None:
            return event
        is_escalation = kind is NotificationKind.ESCALATION
        recipients = rule.escalate_to if is_escalation else rule.recipients or self.everyone
        usual = self._repetition(kind, incident, each_labels)
        repetition = replace(usual, least_apart=least_apart)
        notified = repeat(connection, incident, repetition, recipients)
        names = ", ".join(dict.fromkeys(each.address for each in (*newly, *notified)))
        return replace(event, owner=names) if names else None

    def _repetition(
        self, kind: NotificationKind, incident: Incident, each_labels: Sequence[ChangeLabels]
    ) -> Repetition:
        """Say why and when an incident is notified again: held while all its changes are."""
        rule, zones = self.rules.get(incident.rule), self.directory.configured.zones
        route = route_of_incident(rule, incident, self.now, zones)
        route = hold_all(route, each_labels, self.silences, self.now, zones)
        return Repetition(kind, self.now, route, self.directory, self.domain)
