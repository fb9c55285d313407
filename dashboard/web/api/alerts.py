"""Endpoints about alerts: incidents, silences, windows, rules, recipients, notifications."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID, uuid4

import msgspec

from dashboard.application.deliveries import NotificationHistory
from dashboard.application.delivery_listing import notification_listing
from dashboard.application.incident_words import incident_listing, response_form
from dashboard.application.listing import Json
from dashboard.application.recipient_words import RECIPIENTS
from dashboard.application.rules import AlertRules, rule_listing
from dashboard.domain.alerts.incident import IncidentResponse
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.rule_table import Rules, removed, replaced_by
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import Action, Actor, parse_name
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError, NotFound
from dashboard.store.alerts.notification_search import NotificationFilter
from dashboard.web.api.endpoint import (
    Asked,
    Endpoints,
    Fields,
    Found,
    Moment,
    Reply,
    Rows,
    Slice,
    Text,
    part_of,
    refuse_other_version,
)

endpoints = Endpoints()
MOST_INCIDENTS: Final = 200
"""How many incidents one request may have."""

_STORY: Final = "incidentId state owner isChanged"
_RESULT: Final = "address result"


class IncidentQuery(Fields):
    """Which incidents to list: the open ones, and with `resolved` the latest that ended."""

    network_id: int | None = None
    resolved: bool = False
    limit: Rows = 100


@endpoints.listed("/incidents", "Incidents with their stories", IncidentQuery)
def incidents(asked: Asked) -> Found:
    query: IncidentQuery = asked.query
    ask = asked.application.incidents
    found = [*ask.open(asked.network_id, query.limit)]
    found += ask.finished(asked.network_id, query.limit) if query.resolved else []
    return incident_listing(ask.title_of), found


@endpoints.at("GET /incidents/{id}", "One incident with its story", "incidentId")
def incident(asked: Asked) -> Reply:
    ask = asked.application.incidents
    story = ask.story(_incident_id(asked))
    if story is None:
        raise NotFound("no such incident is stored")
    return Reply(incident_listing(ask.title_of).form(story))


class Noted(Fields):
    """A note for those who read the story."""

    note: Text = ""


class HandOver(Fields):
    """The new owner of an incident: a name, or a recipient, who is notified."""

    to: Text
    note: Text = ""


@endpoints.at(
    "POST /incidents/{id}/acknowledge", "Acknowledge an incident", _STORY, Action.ACKNOWLEDGE, Noted
)
def acknowledge(asked: Asked) -> Reply:
    ask = asked.application.incidents
    return _left(asked, ask.acknowledge(_incident_id(asked), asked.by, asked.body.note))


class Several(Fields):
    """Incidents by their ids, or the beginnings of these, with a note for the stories' readers."""

    ids: Annotated[list[Text], msgspec.Meta(min_length=1, max_length=MOST_INCIDENTS)]
    note: Text = ""


@endpoints.at(
    "POST /incidents/acknowledge",
    "Acknowledge several incidents",
    "incidents",
    Action.ACKNOWLEDGE,
    Several,
)
def acknowledge_all(asked: Asked) -> Reply:
    return _all_left(asked, asked.application.incidents.acknowledge_all)


@endpoints.at(
    "POST /incidents/unacknowledge",
    "Unacknowledge several incidents",
    "incidents",
    Action.UNACKNOWLEDGE,
    Several,
)
def unacknowledge_all(asked: Asked) -> Reply:
    return _all_left(asked, asked.application.incidents.unacknowledge_all)


@endpoints.at(
    "POST /incidents/{id}/unacknowledge",
    "Unacknowledge an incident",
    _STORY,
    Action.UNACKNOWLEDGE,
    Noted,
)
def unacknowledge(asked: Asked) -> Reply:
    ask = asked.application.incidents
    return _left(asked, ask.unacknowledge(_incident_id(asked), asked.by, asked.body.note))


@endpoints.at(
    "POST /incidents/{id}/hand-over",
    "Hand an incident over",
    _STORY,
    Action.HAND_OVER,
    HandOver,
)
def hand_over(asked: Asked) -> Reply:
    ask, to = asked.application.incidents, parse_name(asked.body.to)
    return _left(asked, ask.hand_over(_incident_id(asked), to, asked.by, asked.body.note))


@endpoints.at("POST /incidents/{id}/resolve", "Resolve an incident", _STORY, Action.RESOLVE, Noted)
def resolve(asked: Asked) -> Reply:
    ask = asked.application.incidents
    return _left(asked, ask.resolve(_incident_id(asked), asked.by, asked.body.note))


def _incident_id(asked: Asked) -> UUID:
    """Return the incident in the path, by the first digits of its id or by all."""
    return asked.application.incidents.named(asked.path["id"]).incident_id


def _left(asked: Asked, done: IncidentResponse) -> Reply:
    return Reply(response_form(done, asked.application.incidents.title_of))


def _all_left(
    asked: Asked, change: Callable[[Sequence[UUID], Actor, str], Sequence[IncidentResponse]]
) -> Reply:
    ask, said = asked.application.incidents, asked.body
    ids = [ask.named(each).incident_id for each in said.ids]
    done = change(ids, asked.by, said.note)
    return Reply({"incidents": [response_form(each, ask.title_of) for each in done]})


class Planned(Fields):
    """Matchers as on pages, such as `network = linea`; without any, `coversAll` is needed."""

    matchers: list[Text]
    ends_at: Moment
    reason: Text
    starts_at: Moment | None = None
    weekly: tuple[Text, ...] = ()
    time_zone: Text = ""
    covers_all: bool = False


def _silences(asked: Asked, kind: SilenceKind) -> Found:
    ask = asked.application.silences
    stored = ask.stored()
    found = [each for each in (*stored.unfinished, *stored.finished) if each.kind is kind]
    return ask.listing(kind), found


def _plan(asked: Asked, kind: SilenceKind) -> Reply:
    said: Planned = asked.body
    ask = asked.application.silences
    request = SilenceRequest(
        uuid4(),
        kind,
        ask.read_matchers(said.matchers),
        said.starts_at or asked.by.at,
        said.ends_at,
        said.reason.strip(),
        ask.weekly(said.weekly, said.time_zone),
    )
    added, _ = ask.add(request, asked.by, covers_all=said.covers_all)
    return Reply(ask.listing(kind).form(added))


def _end(asked: Asked, kind: SilenceKind) -> Reply:
    ask = asked.application.silences
    return Reply(ask.listing(kind).form(ask.end(kind, asked.number, asked.by)))


def _offer(
    path: str, name: str, kind: SilenceKind, plan: Action, end: Action, does: tuple[str, str]
) -> None:
    """Add the endpoints that list, plan and end silences, or windows, at a path."""
    answers = "number state startsAt endsAt matchers"
    endpoints.listed(path, name)(partial(_silences, kind=kind))
    endpoints.at(f"POST {path}", does[0], answers, plan, Planned)(partial(_plan, kind=kind))
    endpoints.at(f"DELETE {path}/{{number}}", does[1], answers, end)(partial(_end, kind=kind))


_offer(
    "/silences",
    "Silences",
    SilenceKind.SILENCE,
    Action.SILENCE,
    Action.END_SILENCE,
    ("Add a silence", "End a silence"),
)
_offer(
    "/maintenance-windows",
    "Maintenance windows",
    SilenceKind.MAINTENANCE,
    Action.PLAN_MAINTENANCE,
    Action.END_MAINTENANCE,
    ("Add a maintenance window", "End a maintenance window"),
)


class RuleSet(Fields):
    """All rules in their order, by name, with the keys of the file of rules."""

    rules: dict[str, dict[str, Any]]


@endpoints.at("GET /rules", "All rules, as one document", "rules")
def rules(asked: Asked) -> Reply:
    return Reply.of_version(asked.application.rules.document())


@endpoints.listed("/rules/states", "Each rule with its state now")
def rule_states(asked: Asked) -> Found:
    return rule_listing(asked.context), asked.application.rules.listed()


@endpoints.at(
    "PUT /rules",
    "Replace all rules",
    "rules",
    Action.CHANGE_RULE,
    RuleSet,
    needs_match=True,
)
def set_rules(asked: Asked) -> Reply:
    ask = asked.application.rules

    def edit(held: Rules) -> Rules:
        refuse_other_version(asked, ask.document())
        return replaced_by([_given(ask, *each) for each in asked.body.rules.items()])(held)

    ask.change(edit, asked.by)
    return rules(asked)


def _given(ask: AlertRules, name: str, table: dict[str, Any]) -> Rule:
    """Return a rule of several; InputError says which it is, too."""
    try:
        return ask.given(name, table)
    except InputError as mistake:
        raise InputError(f"the rule {shorten(name)}: {mistake}") from None


@endpoints.at("DELETE /rules/{name}", "Remove a rule", "rules", Action.REMOVE_RULE)
def remove_rule(asked: Asked) -> Reply:
    asked.application.rules.change(removed([asked.name]), asked.by)
    return rules(asked)


class Address(Fields):
    """An address of a channel; `note` says why."""

    address: Text
    channel: Text = MAIL
    note: Text = ""

    @property
    def recipient(self) -> Recipient:
        return Recipient(self.channel, self.address)


@endpoints.at("GET /recipients", "Recipients", "recipients unreached")
def recipients(asked: Asked) -> Reply:
    ask = asked.application.recipients
    unreached: list[Json] = [each.place for each in ask.unreached()]
    return Reply({RECIPIENTS.key: RECIPIENTS.forms(ask.all()), "unreached": unreached})


@endpoints.at(
    "POST /recipients/off", "Send nothing to an address", _RESULT, Action.TURN_OFF, Address
)
def turn_off(asked: Asked) -> Reply:
    said: Address = asked.body
    is_new = asked.application.recipients.turn_off(said.recipient, asked.by, said.note)
    return Reply({"address": said.address, "result": "off" if is_new else "off already"})


@endpoints.at("POST /recipients/on", "Send to an address again", _RESULT, Action.TURN_ON, Address)
def turn_on(asked: Asked) -> Reply:
    said: Address = asked.body
    was_off = asked.application.recipients.turn_on(said.recipient, asked.by)
    return Reply({"address": said.address, "result": "on" if was_off else "on already"})


@endpoints.at(
    "POST /recipients/verification",
    "Send a verification mail",
    _RESULT,
    Action.ASK_TO_VERIFY,
    Address,
)
def ask_to_verify(asked: Asked) -> Reply:
    said: Address = asked.body
    asked.application.recipients.ask(said.recipient, asked.by)
    return Reply({"address": said.address, "result": "a verification mail is sent"})


class Again(Fields):
    """One dead notification, or all to an address."""

    notification_id: UUID | None = None
    address: Text = ""


@endpoints.at(
    "GET /notifications",
    "Notifications with their attempts, the latest first",
    "notifications cursor",
    query=Slice,
)
def notifications(asked: Asked) -> Reply:
    def read(before: tuple[datetime, UUID] | None, limit: int) -> Sequence[NotificationHistory]:
        return asked.application.alerts.page(NotificationFilter(), 1, limit, before)

    def place(each: NotificationHistory) -> tuple[datetime, UUID]:
        return each.notification.created_at, each.notification.notification_id

    shown, cursor = part_of(asked, read, place, UUID)
    forms = notification_listing(asked.context).forms(shown)
    return Reply({"notifications": forms, "cursor": cursor})


@endpoints.at(
    "POST /notifications/again",
    "Send dead notifications again",
    "notifications",
    Action.RESEND,
    Again,
)
def send_again(asked: Asked) -> Reply:
    said: Again = asked.body
    if (said.notification_id is None) is not bool(said.address):
        raise InputError("name one notification, or an address")
    many = asked.application.alerts.send_again(said.notification_id or said.address, asked.by)
    return Reply({"notifications": len(many)})
