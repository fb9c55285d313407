"""What the clock does to incidents: they end, are repeated, escalate, or are silent no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashboard.detect.routing import Zones, quiet_until, timers_of
from dashboard.domain.incident import Incident, IncidentEventKind, IncidentState
from dashboard.domain.incident_timers import (
    IncidentChange,
    end_silence,
    pass_time,
    silence,
    timed,
)
from dashboard.domain.matcher import MatchedProperty
from dashboard.domain.notification import NotificationKind, Recipient
from dashboard.domain.rule import Rule
from dashboard.domain.silence import Silence, silenced_by
from dashboard.store.alerts.incidents import add_events, due_incidents, save_incident
from dashboard.store.alerts.repeats import Repetition, repeat
from dashboard.store.engine.connection import Connection

_AT_ONCE: Final = 200
_REPEATED: Final = {
    IncidentEventKind.REMINDED: NotificationKind.REMINDER,
    IncidentEventKind.ESCALATED: NotificationKind.ESCALATION,
}


@dataclass(frozen=True, slots=True)
class IncidentClock:
    """The moment, and what is in force at it; `everyone` is who rules notify that name nobody."""

    now: datetime
    rules: Mapping[str, Rule]
    silences: Sequence[Silence]
    everyone: Sequence[Recipient]
    zones: Zones
    domain: str

    def act(self, connection: Connection) -> None:
        """Do what is due to incidents, to at most some hundred."""
        for incident in due_incidents(connection, self.now, _AT_ONCE):
            changed = self._changed(incident)
            if changed is None:
                timers = timers_of(self.rules.get(incident.rule))
                save_incident(connection, timed(incident, timers))
                continue
            after, event = changed
            save_incident(connection, after)
            add_events(connection, [(after.incident_id, event)])
            self._repeat(connection, after, event.kind)

    def _changed(self, incident: Incident) -> IncidentChange | None:
        timers = timers_of(self.rules.get(incident.rule))
        found = self._silence_of(incident)
        if found is not None and (incident.troubled or incident.state is IncidentState.FIRING):
            silent = silence(incident, found.over_at, self.now)
            if silent is not None:
                return silent
        elif incident.state is IncidentState.SILENCED and incident.troubled:
            return end_silence(incident, timers, self.now)
        return pass_time(incident, timers, self.now)

    def _silence_of(self, incident: Incident) -> Silence | None:
        """Return the silence that fits what the members of an incident have in common."""
        group = dict(incident.group)
        facts = {each: group.get(each.value, "") for each in MatchedProperty} | {
            MatchedProperty.RULE: incident.rule,
            MatchedProperty.SEVERITY: incident.severity,
        }
        return silenced_by(self.silences, facts, self.now)

    def _repeat(self, connection: Connection, incident: Incident, why: IncidentEventKind) -> None:
        rule, kind = self.rules.get(incident.rule), _REPEATED.get(why)
        if rule is None or kind is None:
            return
        is_escalation = kind is NotificationKind.ESCALATION
        recipients = rule.escalate_to if is_escalation else rule.recipients or self.everyone
        release_at = quiet_until(rule, self.zones, self.now) or self.now
        repetition = Repetition(kind, self.now, release_at, self.domain)
        repeat(connection, incident, repetition, recipients)
