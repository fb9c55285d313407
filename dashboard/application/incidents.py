"""Questions about incidents and acts on them, for the page, commands and links."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from dashboard.application.context import ApplicationSubject, shared_for
from dashboard.application.incident_responses import respond_to
from dashboard.application.incident_words import TimelineEntry, timeline_of
from dashboard.application.recipients import recipients_called
from dashboard.application.silences import silence_of, silent_now
from dashboard.detect.routing import timers_of
from dashboard.domain.alerts.condition import INSTALLATION
from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEventKind,
    IncidentResponse,
    IncidentState,
    acknowledge,
    declare_resolved,
    hand_over,
    unacknowledge,
)
from dashboard.domain.alerts.incident_timers import Upcoming, upcoming
from dashboard.domain.alerts.inhibition import SourceOutage, inhibited_rules, outage_behind
from dashboard.domain.alerts.kinds.table import subject_kinds
from dashboard.domain.alerts.notification import Precedence, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_text import incident_title
from dashboard.domain.formatting import short_hash
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import NetworkId, TxHash, shorten
from dashboard.domain.rejections.reasons import explain
from dashboard.errors import InputError, NotFound
from dashboard.store.alerts.closings import traffic_to
from dashboard.store.alerts.first_messages import known_at
from dashboard.store.alerts.incident_list import (
    ANY_FINISHED,
    FinishedFilter,
    IncidentStory,
    WithheldChanges,
    change_times,
    count_finished_incidents,
    finished_incident_stories,
    incident_story,
    incidents_beginning,
    incidents_within,
    notifications_of,
    open_incident_stories,
    withheld_about,
)
from dashboard.store.alerts.incidents import (
    OpenCounts,
    all_open_incidents,
    count_open_incidents,
    incidents_by_id,
    open_counts,
    unattended_incidents,
)
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.alerts.reminders_and_escalations import last_changes_of
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.alerts.silences import unfinished_silences
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.evidence import with_labels

MOST_OPEN: Final = 50
MOST_UNATTENDED: Final = 200
"""The most incidents that are named as needing a person: one press may own all of them."""

MOST_FINISHED: Final = 20
"""Resolved incidents on the page; a command may request more."""

MOST_COUNTED: Final = 10_000
"""The most open incidents that are counted by rule and state."""

_MOST_NOTIFICATIONS: Final = 500
MOST_CHANGES: Final = 10_000
"""The most changes of one incident that are counted by time, the latest."""

_SHARED_FOR: Final = timedelta(seconds=1)
_ID: Final = re.compile(r"[0-9a-f]{4,32}")


class Incidents(ApplicationSubject):
    def open(
        self, network_id: NetworkId | None = None, limit: int = MOST_OPEN, offset: int = 0
    ) -> tuple[IncidentStory, ...]:
        """Return the open incidents of one network or all, the most urgent first."""
        with self._context.store.read() as connection:
            found = open_incident_stories(connection, limit, network_id, offset)
            return self._as_now(connection, found)

    def open_counts(self, network_id: NetworkId | None = None) -> OpenCounts:
        """Count the open incidents, and those that nobody acknowledged."""
        with self._context.store.read() as connection:
            return open_counts(connection, network_id)

    @shared_for(_SHARED_FOR, until_write=True)
    def count_open(self, network_id: NetworkId) -> int:
        """Count the open incidents of a network; with the only one, Linewatch's own as well."""
        is_only = len(self._context.networks) == 1
        counted = {network_id, INSTALLATION} if is_only else {network_id}
        with self._context.store.read() as connection:
            return count_open_incidents(connection, counted)

    @shared_for(_SHARED_FOR, until_write=True)
    def unattended(self, network_id: NetworkId | None = None) -> tuple[Incident, ...]:
        """Return the firing incidents that need a person and are not silenced, the first 200."""
        now = self._context.now()
        found: list[Incident] = []
        with self._context.store.read() as connection:
            silences = unfinished_silences(connection, now)
            for skipped in range(0, MOST_COUNTED, MOST_UNATTENDED):
                some = unattended_incidents(connection, MOST_UNATTENDED, network_id, skipped)
                found += [
                    each for each in some if silence_of(connection, each, silences, now) is None
                ]
                if len(some) < MOST_UNATTENDED or len(found) >= MOST_UNATTENDED:
                    break
        return tuple(found[:MOST_UNATTENDED])

    def finished(
        self,
        network_id: NetworkId | None = None,
        limit: int = MOST_FINISHED,
        wanted: FinishedFilter = ANY_FINISHED,
        offset: int = 0,
    ) -> tuple[IncidentStory, ...]:
        """Return the resolved incidents of one network or all, the last to end first."""
        with self._context.store.read_recent() as connection:
            here = replace(wanted, network_id=network_id)
            return tuple(finished_incident_stories(connection, limit, here, offset))

    def count_finished(self, network_id: NetworkId | None, wanted: FinishedFilter) -> int:
        """Count the resolved incidents that match."""
        with self._context.store.read_recent() as connection:
            return count_finished_incidents(connection, replace(wanted, network_id=network_id))

    def story(self, incident_id: UUID) -> IncidentStory | None:
        """Return one incident, open or resolved, with its story; None if it is not stored."""
        with self._context.store.read() as connection:
            found = incident_story(connection, incident_id)
            return None if found is None else self._as_now(connection, [found])[0]

    def change_times(self, incident_id: UUID) -> list[datetime]:
        """Return when the latest changes of an incident happened, the latest first."""
        with self._context.store.read() as connection:
            return change_times(connection, incident_id, MOST_CHANGES)

    def timeline(self, story: IncidentStory) -> list[TimelineEntry]:
        """Return an incident's events and notifications, the latest first."""
        with self._context.store.read() as connection:
            sent = notifications_of(connection, story.incident.incident_id, _MOST_NOTIFICATIONS)
        return timeline_of(story.events, sent)

    @shared_for(_SHARED_FOR, until_write=True)
    def count_by_rule(self) -> Mapping[str, Counter[IncidentState]]:
        """Count the open incidents of each rule by their states as of now."""
        found: defaultdict[str, Counter[IncidentState]] = defaultdict(Counter)
        with self._context.store.read() as connection:
            several = all_open_incidents(connection, MOST_COUNTED)
            rules = {each.name: each for each in rules_in_force(connection)}
            stories = [IncidentStory(each, (), (), ()) for each in several]
            for each in self._with_state(connection, stories, rules):
                found[each.incident.rule][each.state] += 1
        return dict(found)

    def _as_now(
        self, connection: Connection, found: Sequence[IncidentStory]
    ) -> tuple[IncidentStory, ...]:
        """Add the current silence, what is unknown now, and when people are next notified."""
        rules = {each.name: each for each in rules_in_force(connection)}
        everyone = read_directory(connection, self._context.settings.recipients).configured.named
        return tuple(
            each
            if (rule := rules.get(each.incident.rule)) is None
            else replace(each, upcoming=self._upcoming(connection, each, rule, everyone))
            for each in self._with_state(connection, found, rules)
        )

    def _with_state(
        self, connection: Connection, found: Sequence[IncidentStory], rules: Mapping[str, Rule]
    ) -> Iterator[IncidentStory]:
        """Add the current silence, and what is unknown now."""
        now = self._context.now()
        silences = unfinished_silences(connection, now)
        networks = [each.network_id for each in self._context.networks]
        sources = silent_now(connection, networks, now)
        for each in found:
            silence = silence_of(connection, each.incident, silences, now)
            yield replace(_with_silent(each, rules, sources), silence=silence)

    def _upcoming(
        self,
        connection: Connection,
        story: IncidentStory,
        rule: Rule,
        everyone: Sequence[Recipient],
    ) -> Upcoming | None:
        """Return when people are next notified, not before they heard of it.

        The hourly cap may delay a reminder.
        """
        now, named = self._context.now(), rule.recipients or everyone
        if upcoming(story.incident, timers_of(rule)) is None:
            return None
        heard_at = known_at(connection, story.incident, named, now)
        found = upcoming(replace(story.incident, notified_at=heard_at), timers_of(rule))
        if found is None or found.kind is not IncidentEventKind.REMINDED or not story.notified:
            return found
        due_at = max(found.at, now)
        opens_at = min(
            self._context.settings.hourly_cap.of(each.recipient).opens_at(
                traffic_to(connection, each.recipient, now), due_at, Precedence.REMINDER
            )
            for each in story.notified
        )
        return found if opens_at <= due_at else Upcoming(opens_at, found.kind, is_capped=True)

    def withheld_about(self, tx_hash: TxHash) -> tuple[WithheldChanges, ...]:
        """Return who was not notified of a transaction, and why."""
        with self._context.store.read_recent() as connection:
            return tuple(withheld_about(connection, tx_hash))

    def find(self, incident_id: UUID) -> Incident | None:
        with self._context.store.read() as connection:
            return incidents_by_id(connection, {incident_id}).get(incident_id)

    def named(self, text: str) -> Incident:
        """Return the incident whose id begins like this; InputError if several do, or none."""
        digits = text.lower().replace("-", "")
        found: list[Incident] = []
        if _ID.fullmatch(digits):
            with self._context.store.read() as connection:
                found = incidents_beginning(connection, digits)
        if not found:
            raise NotFound(f"{shorten(text)} names no incident: take its id from the list of them")
        if len(found) > 1:
            raise InputError(f"{shorten(text)} names several incidents: give more of the id")
        return found[0]

    def acknowledge(
        self, incident_id: UUID, by: Actor, note: str = "", recipient: Recipient | None = None
    ) -> IncidentResponse:
        """Make a person the owner, on record; InputError if it is resolved, NotFound if not stored.

        The `recipient` who used a link is not notified of it, whatever name they give.
        """
        return self._respond(
            incident_id, lambda each: acknowledge(each, by, note), by, Action.ACKNOWLEDGE, recipient
        )

    def unacknowledge(self, incident_id: UUID, by: Actor, note: str = "") -> IncidentResponse:
        """Remove the owner, on record."""
        return self._respond(
            incident_id, lambda each: unacknowledge(each, by, note), by, Action.UNACKNOWLEDGE
        )

    def acknowledge_all(
        self, incident_ids: Sequence[UUID], by: Actor, note: str = ""
    ) -> tuple[IncidentResponse, ...]:
        """Make a person the owner of several incidents, all or none; return the result of each.

        Incidents that are resolved or have an owner stay as they are; if there are several, so do
        pending ones.
        """
        kept = {IncidentState.RESOLVED}
        if len(incident_ids) > 1:
            kept.add(IncidentState.PENDING)

        def change(each: Incident) -> IncidentResponse:
            is_kept = each.state in kept
            return IncidentResponse(each) if is_kept else acknowledge(each, by, note)

        return respond_to(self._context, incident_ids, change, by, Action.ACKNOWLEDGE)

    def unacknowledge_all(
        self, incident_ids: Sequence[UUID], by: Actor, note: str = ""
    ) -> tuple[IncidentResponse, ...]:
        """Remove the owner of several incidents, all or none."""

        def change(each: Incident) -> IncidentResponse:
            return unacknowledge(each, by, note) if each.is_open else IncidentResponse(each)

        return respond_to(self._context, incident_ids, change, by, Action.UNACKNOWLEDGE)

    def take_back(
        self, done: Sequence[IncidentResponse], owner: str, by: Actor
    ) -> tuple[IncidentResponse, ...]:
        """Restore the owner whom incidents had before somebody acted; empty for none.

        All or none: InputError if one has a new owner since. Resolved incidents, and those that
        were not changed then, stay as they are.
        """
        known = {each.incident.owner for each in done}
        ids = [one.incident_id for each in done for one in (each.incident, *each.others)]

        def change(each: Incident) -> IncidentResponse:
            if not each.is_open or each.incident_id not in ids:
                return IncidentResponse(each)
            if each.owner not in known:
                now = f"{each.owner} owns" if each.owner else "nobody owns"
                raise InputError(f"{now} “{self.title_of(each)}” now: change that instead")
            return hand_over(each, owner, by) if owner else unacknowledge(each, by)

        action = Action.HAND_OVER if owner else Action.UNACKNOWLEDGE
        return respond_to(self._context, ids, change, by, action)

    def hand_over(self, incident_id: UUID, to: str, by: Actor, note: str = "") -> IncidentResponse:
        """Make another person the owner, on record."""
        return self._respond(
            incident_id, lambda each: hand_over(each, to, by, note), by, Action.HAND_OVER
        )

    def resolve(self, incident_id: UUID, by: Actor, note: str = "") -> IncidentResponse:
        return self._respond(
            incident_id, lambda each: declare_resolved(each, by, note), by, Action.RESOLVE
        )

    def _respond(
        self,
        incident_id: UUID,
        change: Callable[[Incident], IncidentResponse],
        by: Actor,
        action: Action,
        recipient: Recipient | None = None,
    ) -> IncidentResponse:
        [response] = respond_to(self._context, [incident_id], change, by, action, recipient)
        return response

    def last_transaction(self, incident: Incident) -> str:
        """Name the last transaction of an incident, and say why it was rejected.

        It is named by its label and short hash; empty if the incident is not about transactions.
        The text holds foreign text.
        """
        with self._context.store.read() as connection:
            known = with_labels(connection, last_changes_of(connection, [incident]))
        if not known or (tx_hash := known[0].transition.subject.tx_hash) is None:
            return ""
        [change] = known
        name = f"{change.label} ({short_hash(tx_hash)})" if change.label else short_hash(tx_hash)
        if change.rejection is None:
            return name
        return f"{name}. {explain(self._context.reason_of(change.rejection))}"

    def within(self, incident: Incident) -> tuple[Incident, ...]:
        """Return the incidents whose every change is also in this one: acts apply to them too."""
        with self._context.store.read() as connection:
            return tuple(incidents_within(connection, incident))

    def with_it(self, others: Sequence[Incident]) -> str:
        """Name the incidents that change with another; empty for none."""
        named = ", ".join(f"“{self.title_of(each)}” of the rule {each.rule}" for each in others)
        return f"This also applies to {named}, whose changes are all part of it." if named else ""

    def owner_notified(self, response: IncidentResponse) -> str:
        """Say whether the new owner is notified of a handover by somebody else, else nothing."""
        event = response.event
        if event is None or event.owner in {"", event.actor}:
            return ""
        with self._context.store.read() as connection:
            directory = read_directory(connection, self._context.settings.recipients)
            found = recipients_called(event.owner, directory, rules_in_force(connection))
        if not found:
            return f"No recipient is called {event.owner}, so they are not notified."
        withheld = [directory.withheld(each) for each in found]
        is_not = "" if "" in withheld else f" not notified: {withheld[0]}"
        return f"{event.owner} is{is_not or ' notified'}."

    def title_of(self, incident: Incident) -> str:
        """Return the title of an incident; it holds foreign text."""
        return incident_title(incident, self._context.network_name)


def _with_silent(
    story: IncidentStory, rules: Mapping[str, Rule], sources: Sequence[SourceOutage]
) -> IncidentStory:
    """Add why nobody knows whether an incident lasts, or which rules it inhibits."""
    incident = story.incident
    rule = rules.get(incident.rule)
    if rule is None or not incident.is_open or not incident.troubled:
        return story
    network_id = incident.network_id
    mine = [
        each
        for each in sources
        if each.network_id == network_id and each.kind in subject_kinds(rule.kind)
    ]
    inhibited = [name for source in mine for name in inhibited_rules(source, rules.values())]
    unknown = outage_behind(rule.kind, network_id, sources)
    return replace(story, unknown=unknown, inhibited=tuple(dict.fromkeys(inhibited)))
