"""A plain model of alerting: who is to hear of what, from when on, and what time does to incidents.

It shares no code with the product, only its plain records: rules, matchers, recipients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.silence import SilenceKind
from tests.model.active_hours import is_active, opens_after
from tests.model.alert_records import (
    HEARD,
    About,
    Group,
    Happening,
    Hold,
    Labels,
    OpenIncident,
    Repeated,
    Waiting,
    Window,
)

_QUIET_AFTER: Final = timedelta(minutes=15)


@dataclass
class ExpectedAlerts:
    """What is to become of everything that happened so far."""

    everyone: tuple[Recipient, ...]
    rules: tuple[Rule, ...]
    windows: list[Window] = field(default_factory=list)
    off: set[Recipient] = field(default_factory=set)
    incidents: dict[About, OpenIncident] = field(default_factory=dict)
    members: dict[tuple[UUID, Recipient], Hold | None] = field(default_factory=dict)
    """Who is to hear of each change, from when on; None for those who are not."""
    repeated: list[Repeated] = field(default_factory=list)
    silenced: set[tuple[UUID, Recipient]] = field(default_factory=set)
    """Who does not hear of a change since it was silenced."""
    dead: set[tuple[UUID, Recipient]] = field(default_factory=set)
    """Whose message about a change is dead, since their address was off."""
    kept_back: Mapping[tuple[UUID, Recipient], datetime] = field(default_factory=dict)
    """Changes whose messages to somebody a failing server keeps back, and when these were due."""

    def happen(self, what: Happening, waiting: Waiting, now: datetime, elapsed: timedelta) -> None:
        """Let a change join its incidents, and reach everybody once, by the soonest rule.

        Of equally soon ones that is the first without quiet hours, which might hold it on, or else
        the first. The end of an incident reaches all who heard of it as well.
        """
        soonest: dict[Recipient, Hold] = {}
        withheld: set[Recipient] = set()
        named: set[Recipient] = set()
        concerned = [each for each in self.rules if _concerns(each, what)]
        for rule in sorted(concerned, key=lambda each: each.active_hours is not None):
            labels = _labels(what.group, rule.name, rule.severity)
            silence = self._silence(labels, now)
            incident = self._grow(rule, what, now, is_silenced=silence is not None)
            recipients = {*(rule.recipients or self.everyone)}
            if (rule.name, what.group) not in self.incidents:
                self._withdraw(incident, waiting)
                recipients |= self._told_of(incident, waiting)
            if silence is not None:
                withheld.update(recipients)
                continue
            named |= recipients
            withheld |= self.off.intersection(recipients)
            for each in recipients - self.off:
                hold = self._hold(rule, labels, now, elapsed)
                soonest[each] = min(soonest.get(each, hold), hold, key=lambda found: found.until)
        for each, hold in soonest.items():
            self.members[what.transition_id, each] = hold
        for each in withheld - soonest.keys():
            self.members[what.transition_id, each] = None
            if each not in named:
                self.silenced.add((what.transition_id, each))

    def change_rules(self, rules: tuple[Rule, ...], waiting: Waiting) -> None:
        """Let these be in force: incidents of rules that are gone, off or meant otherwise end."""
        self.rules = rules
        on = {each.name: each.scope.modules for each in rules if each.is_enabled}
        for about, incident in list(self.incidents.items()):
            modules = on.get(incident.rule)
            if modules is None or (modules and dict(incident.group)["module"] not in modules):
                self._withdraw(incident, waiting)
                del self.incidents[about]

    def pass_time(
        self,
        now: datetime,
        elapsed: timedelta,
        tried: Mapping[tuple[UUID, Recipient], datetime],
        kept_back: Mapping[tuple[UUID, Recipient], datetime],
    ) -> None:
        """Let time do what is due to every incident; `tried` are changes that went to somebody.

        What is sent in this round was not yet known when its first step was decided.

        At the end of a window the rules that are in force then say how long quiet hours hold on.
        """
        self.kept_back = kept_back
        for window in self.windows:
            if window.kind is SilenceKind.MAINTENANCE and window.over_at <= now:
                self.release(window, now, elapsed)
        for about, incident in list(self.incidents.items()):
            incident.know_no_later_than(now)
            rule = next((each for each in self.rules if each.name == incident.rule), None)
            is_anything_due = self._does_something(incident, rule, now, elapsed)
            if incident.notified_at is None:
                dates = [tried[key] for key in self._own(incident, rule) if key in tried]
                incident.notified_at = min(dates, default=None)
            while is_anything_due:
                is_anything_due = self._does_something(incident, rule, now, elapsed)
            if incident.state is IncidentState.RESOLVED:
                del self.incidents[about]

    def forget(self, key: tuple[UUID, Recipient], *, is_dead: bool) -> None:
        """Expect nothing of a change for somebody; `is_dead`: there was a message about it."""
        self.members[key] = None
        if is_dead:
            self.dead.add(key)

    def release(self, window: Window, now: datetime, elapsed: timedelta) -> None:
        """Let go what nothing but a window held that is over."""
        rules = {each.name: each for each in self.rules}
        for hold in filter(None, self.members.values()):
            if window in hold.windows and hold.until > now and hold.until_elapsed > elapsed:
                again = self._hold(rules.get(hold.rule), hold.labels, now, elapsed)
                hold.until = min(hold.until, again.until)
                hold.until_elapsed = min(hold.until_elapsed, again.until_elapsed)
                hold.windows = again.windows

    def _told_of(self, incident: OpenIncident, waiting: Waiting) -> set[Recipient]:
        """Return who heard of an incident, or will: by its rule's messages of changes, or others.

        A reminder went only to those who had got the last change, perhaps by another rule.
        """
        mine, about = set(incident.changes), (incident.rule, incident.group)
        told = {
            to
            for (change, to), hold in self.members.items()
            if hold is not None and hold.rule == incident.rule and change in mine
        }
        return told | {
            each.recipient
            for each in incident.repeated
            if each.kind is NotificationKind.ESCALATION
            or (HEARD, each.recipient) in waiting.get(about, ())
        }

    def _withdraw(self, incident: OpenIncident, waiting: Waiting) -> None:
        """Say nothing more of an incident that is over, but its end."""
        about = (incident.rule, incident.group)
        gone = [
            each
            for each in incident.repeated
            if (str(each.kind), each.recipient) in waiting.get(about, ())
        ]
        incident.repeated = [each for each in incident.repeated if each not in gone]
        self.repeated = [each for each in self.repeated if each not in gone]

    def _grow(
        self, rule: Rule, what: Happening, now: datetime, *, is_silenced: bool
    ) -> OpenIncident:
        about = (rule.name, what.group)
        incident = self.incidents.get(about)
        if incident is None:
            incident = OpenIncident(rule.name, str(rule.severity), what.group, now, now)
            self.incidents[about] = incident
            if is_silenced:
                incident.state = IncidentState.SILENCED
        elif incident.state is IncidentState.SILENCED and not is_silenced:
            incident.state = IncidentState.FIRING
        incident.changed_at = max(incident.changed_at, now)
        incident.changes.append(what.transition_id)
        if what.kind is RuleKind.BUSY:
            incident.troubled = max(0, incident.troubled + (1 if what.opens else -1))
            if not incident.troubled:
                del self.incidents[about]
        return incident

    def _does_something(
        self, incident: OpenIncident, rule: Rule | None, now: datetime, elapsed: timedelta
    ) -> bool:
        """Let one thing happen that is due; False where nothing is."""
        labels = _labels(incident.group, incident.rule, incident.severity)
        is_silent = self._silence(labels, now) is not None
        state = incident.state
        if incident.troubled and is_silent and state is IncidentState.FIRING:
            incident.state = IncidentState.SILENCED
            return True
        if incident.troubled and state is IncidentState.SILENCED and not is_silent:
            incident.state = IncidentState.FIRING
            if rule is not None:
                self._end_silence(incident, rule, now, elapsed)
            self._remind(incident, rule, now, elapsed)
            return True
        if rule is not None and incident.troubled and state is IncidentState.FIRING:
            self._tell_silenced(incident, rule, now, elapsed)
        since = self._known_since(incident, rule, now)
        heard = None if is_silent or state is not IncidentState.FIRING else rule
        if heard is not None and self._is_escalated(incident, heard, now, elapsed):
            return True
        if state is not IncidentState.RESOLVED and _is_over(incident, rule, since, now):
            incident.state = IncidentState.RESOLVED
            return True
        return heard is not None and self._is_reminded(incident, heard, now, elapsed)

    def _is_escalated(
        self, incident: OpenIncident, rule: Rule, now: datetime, elapsed: timedelta
    ) -> bool:
        """Let an incident escalate where that is due; False where it is not."""
        since = self._known_since(incident, rule, now)
        escalates_at = _escalates_at(incident, rule, since)
        if escalates_at is None or escalates_at > now:
            return False
        incident.escalated_at = now
        self._repeat(incident, NotificationKind.ESCALATION, rule.escalate_to, elapsed)
        return True

    def _is_reminded(
        self, incident: OpenIncident, rule: Rule, now: datetime, elapsed: timedelta
    ) -> bool:
        """Let people be reminded of an incident where that is due; False where it is not."""
        last = incident.reminded_at or self._known_since(incident, rule, now)
        if rule.remind_every is None or last + rule.remind_every > now:
            return False
        self._remind(incident, rule, now, elapsed)
        return True

    def _remind(
        self, incident: OpenIncident, rule: Rule | None, now: datetime, elapsed: timedelta
    ) -> None:
        incident.reminders += 1
        incident.reminded_at = now
        if rule is not None:
            last = incident.changes[-1]
            named = rule.recipients or self.everyone
            recipients = [each for each in named if self.members.get((last, each)) is not None]
            self._repeat(incident, NotificationKind.REMINDER, recipients, elapsed)

    def _end_silence(
        self, incident: OpenIncident, rule: Rule, now: datetime, elapsed: timedelta
    ) -> None:
        """Let those hear of what lasts to whom it was not said, because of a silence or otherwise.

        What another rule holds longer goes by this one.
        """
        labels = _labels(incident.group, rule.name, rule.severity)
        for each in rule.recipients or self.everyone:
            key = (incident.changes[-1], each)
            hold, known = self._hold(rule, labels, now, elapsed), self.members.get(key)
            if known is None and key not in self.dead:
                self.silenced.discard(key)
                self.members[key] = None if each in self.off else hold
            elif known is not None and known.is_later_than(hold, now, elapsed):
                self.members[key] = hold

    def _tell_silenced(
        self, incident: OpenIncident, rule: Rule, now: datetime, elapsed: timedelta
    ) -> None:
        """Let those hear of what lasts from whom a silence withheld it, of whichever rule."""
        last = incident.changes[-1]
        if any((last, each) in self.silenced for each in rule.recipients or self.everyone):
            self._end_silence(incident, rule, now, elapsed)

    def _own(self, incident: OpenIncident, rule: Rule | None) -> Iterator[tuple[UUID, Recipient]]:
        """Yield who hears of which changes of an incident: by its rule, or named by it."""
        named = () if rule is None else rule.recipients or self.everyone
        mine = set(incident.changes)
        for (change, to), hold in self.members.items():
            if hold is None or change not in mine:
                continue
            if hold.rule == incident.rule or to in named:
                yield change, to

    def _known_since(self, incident: OpenIncident, rule: Rule | None, now: datetime) -> datetime:
        """Return when its people first heard of an incident; while they are to, that is now.

        If a failing server keeps that back, it is when they were to.
        """
        if incident.notified_at is not None:
            return max(incident.opened_at, incident.notified_at)
        own = list(self._own(incident, rule))
        due = [self.kept_back[key] for key in own if key in self.kept_back]
        return max(incident.opened_at, min([now, *due])) if own else incident.opened_at

    def _repeat(
        self,
        incident: OpenIncident,
        kind: NotificationKind,
        recipients: Sequence[Recipient],
        elapsed: timedelta,
    ) -> None:
        about = (incident.rule, incident.group)
        again = [
            Repeated(about, kind, each, elapsed) for each in recipients if each not in self.off
        ]
        incident.repeated += again
        self.repeated += again

    def _silence(self, labels: Labels, at: datetime) -> Window | None:
        fitting = (each for each in self.windows if each.kind is SilenceKind.SILENCE)
        return next((each for each in fitting if each.covers(labels, at)), None)

    def _hold(self, rule: Rule | None, labels: Labels, now: datetime, elapsed: timedelta) -> Hold:
        """Hold until the first moment that is in no maintenance window and in active hours."""
        at, hours = now, None if rule is None else rule.active_hours
        windows: list[Window] = []
        while True:
            fitting = [each for each in self.windows if each.kind is SilenceKind.MAINTENANCE]
            covering = [each for each in fitting if each.covers(labels, at)]
            if covering:
                at = max(each.over_at for each in covering)
                windows += [each for each in covering if each.over_at == at]
            elif hours is not None and not is_active(hours, at):
                at = opens_after(hours, at)
            else:
                break
        name = "" if rule is None else rule.name
        return Hold(at, elapsed + (at - now), elapsed, name, labels, tuple(windows))


def _concerns(rule: Rule, what: Happening) -> bool:
    is_meant = not rule.scope.modules or what.module in rule.scope.modules
    return rule.is_enabled and rule.kind is what.kind and is_meant


def _labels(group: Group, rule: str, severity: str) -> Labels:
    known = dict(group)
    labels = {each: known.get(str(each), "") for each in MatchedProperty}
    return labels | {MatchedProperty.RULE: rule, MatchedProperty.SEVERITY: str(severity)}


def _escalates_at(incident: OpenIncident, rule: Rule | None, since: datetime) -> datetime | None:
    """Return when nobody has acknowledged an incident for too long; None for never."""
    if rule is None or rule.escalate_after is None or not rule.escalate_to:
        return None
    if incident.escalated_at is not None or incident.state is not IncidentState.FIRING:
        return None
    return since + rule.escalate_after


def _is_over(incident: OpenIncident, rule: Rule | None, since: datetime, now: datetime) -> bool:
    """Whether an incident of transactions went quiet: not before it escalated, if it is to."""
    if incident.troubled:
        return False
    quiet_after = (rule.keep_firing if rule is not None else None) or _QUIET_AFTER
    escalates_at = incident.escalated_at or _escalates_at(incident, rule, since)
    return max(incident.changed_at, escalates_at or incident.changed_at) + quiet_after <= now
