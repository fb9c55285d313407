"""What people do about incidents: changed in one transaction, on record, and reported to others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec.structs import astuple, replace

from dashboard.application.context import ApplicationContext
from dashboard.application.recipients import recipients_called
from dashboard.detect.routing import hold_all, route_of_incident
from dashboard.domain.alerts.holding import RuleRoute, route_for
from dashboard.domain.alerts.incident import Incident, IncidentResponse
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.rule_text import incident_title
from dashboard.domain.alerts.silence import Silence
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.people.recipients import RecipientDirectory, is_called, mailbox_of
from dashboard.errors import NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.incident_list import incidents_within, labels_of_incident, respond
from dashboard.store.alerts.incidents import incidents_by_id
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.alerts.reminders_and_escalations import (
    Repetition,
    notified_of,
    repeat,
    withdraw,
)
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.alerts.silences import unfinished_silences
from dashboard.store.engine.connection import Connection

_REPORTED: Final = {
    Action.ACKNOWLEDGE: NotificationKind.ACKNOWLEDGED,
    Action.UNACKNOWLEDGE: NotificationKind.UNACKNOWLEDGED,
    Action.HAND_OVER: NotificationKind.HANDED_OVER,
    Action.RESOLVE: NotificationKind.RESOLVED,
}


def respond_to(
    context: ApplicationContext,
    incident_ids: Sequence[UUID],
    change: Callable[[Incident], IncidentResponse],
    by: Actor,
    action: Action,
    recipient: Recipient | None = None,
) -> tuple[IncidentResponse, ...]:
    """Change incidents, and those that are part of them; return the result of each.

    InputError if one cannot be changed like this; then none is. The `recipient` who used a link is
    not notified.
    """
    by.require(action)
    asked = tuple(dict.fromkeys(incident_ids))
    with context.store.write() as connection:
        answers = [_answer(connection, each, change, asked) for each in asked]
        own = [first for first, *_ in answers if first.event is not None]
        within = [each for _, *others in answers for each in others]
        for each in (*own, *within):
            details: dict[str, Detail] = {
                "incident": incident_title(each.incident, context.network_name),
                "owner": each.incident.owner,
                "note": "" if each.event is None else each.event.note,
            }
            note_action(connection, by, action, str(each.incident.incident_id), details)
            withdraw(connection, each.incident)
        _report(connection, context, own, within, by, action, recipient)
    return tuple(
        replace(first, others=tuple(each.incident for each in others)) for first, *others in answers
    )


def _answer(
    connection: Connection,
    incident_id: UUID,
    change: Callable[[Incident], IncidentResponse],
    asked: Sequence[UUID],
) -> list[IncidentResponse]:
    """Change an incident, and those that are part of it unless they are among `asked` too."""
    stored = incidents_by_id(connection, {incident_id}).get(incident_id)
    within = [] if stored is None else incidents_within(connection, stored)
    response = respond(connection, incident_id, change)
    if response is None:
        raise NotFound(f"the incident {incident_id} is not stored")
    if response.event is None:
        return [response]
    ids = [each.incident_id for each in within if each.incident_id not in asked]
    others = [respond(connection, each, change) for each in ids]
    return [response, *(each for each in others if each is not None and each.event is not None)]


def _report(
    connection: Connection,
    context: ApplicationContext,
    own: Sequence[IncidentResponse],
    within: Sequence[IncidentResponse],
    by: Actor,
    action: Action,
    recipient: Recipient | None,
) -> None:
    """Report an act to everybody else who was notified of the incidents before.

    During quiet hours of the rule or the recipient, and during maintenance, the report waits.
    People get one mail about everything that may be sent at the same time, programs one message for
    each incident; whoever hears of an incident hears nothing of those `within` it.
    """
    settings, rules = context.settings, rules_in_force(connection)
    directory = read_directory(connection, settings.recipients)
    by_link = set() if recipient is None else {mailbox_of(recipient)}
    told: set[Recipient] = set()
    messages: dict[tuple[object, ...], tuple[Recipient, RuleRoute, list[Incident]]] = {}
    silences = unfinished_silences(connection, by.at)
    for each in (*own, *within):
        incident, known = each.incident, by_link | (told if each in within else set())
        route = _route(connection, incident, rules, silences, by.at)
        others = _others(connection, each, by, directory, rules)
        for mailbox in others.keys() - known:
            one = others[mailbox]
            alone = None if one.channel == MAIL else incident.incident_id
            held = route_for(one, route, directory, by.at)
            key = mailbox, held.held_until, held.held_by, held.is_urgent, alone
            messages.setdefault(key, (one, held, []))[2].append(incident)
        told |= others.keys()
    for one, route, [first, *rest] in sorted(messages.values(), key=lambda each: astuple(each[0])):
        repetition = Repetition(_REPORTED[action], by.at, route, directory, settings.domain)
        repeat(connection, first, repetition, [one], rest)


def _route(
    connection: Connection,
    incident: Incident,
    rules: Sequence[Rule],
    silences: Sequence[Silence],
    now: datetime,
) -> RuleRoute:
    """Return the route of a report about an incident."""
    rule = next((each for each in rules if each.name == incident.rule), None)
    matchers = (matcher for each in silences for matcher in each.request.matchers)
    each_labels = labels_of_incident(connection, incident, matchers)
    route = route_of_incident(rule, incident, now, ZoneInfo)
    return hold_all(route, each_labels, silences, now, ZoneInfo)


def _others(
    connection: Connection,
    response: IncidentResponse,
    by: Actor,
    directory: RecipientDirectory,
    rules: Sequence[Rule],
) -> dict[Recipient, Recipient]:
    """Return everybody notified of an incident before, and its new owner, except who acted.

    The result is by mailbox.
    """
    found = {mailbox_of(each): each for each in notified_of(connection, response.incident)}
    owner = "" if response.event is None else response.event.owner
    for each in recipients_called(owner, directory, rules):
        found.setdefault(mailbox_of(each), each)
    return {mailbox: each for mailbox, each in found.items() if not is_called(each, by.name)}
