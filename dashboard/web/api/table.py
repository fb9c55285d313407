"""The table of the management API: every endpoint, from which routes and OpenAPI are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.access import Action, Role
from dashboard.web.api import access_acts, acts, questions
from dashboard.web.api.endpoint import Asked, Endpoint, Fields, NoFields, Reply, Slice

Answer = Callable[[Asked], Reply]


def _get(
    path: str,
    summary: str,
    answer: Answer,
    *keys: str,
    query: type[Fields] = NoFields,
    least: Role = Role.VIEWER,
) -> Endpoint:
    return Endpoint("GET", path, summary, answer, keys, query=query, least=least)


def _act(
    verb_and_path: str,
    summary: str,
    action: Action,
    answer: Answer,
    *keys: str,
    body: type[Fields] | None = None,
    secrets: tuple[str, ...] = (),
    needs_match: bool = False,
) -> Endpoint:
    verb, _, path = verb_and_path.partition(" ")
    return Endpoint(
        verb,
        path,
        summary,
        answer,
        keys,
        action=action,
        body=body,
        secrets=secrets,
        needs_match=needs_match,
    )


_ADMIN: Final = Role.ADMIN
_STORY: Final = ("incidentId", "state", "owner", "isChanged")
_PLAN: Final = ("number", "state", "startsAt", "endsAt", "matchers")
_KEY: Final = ("name", "state", "requestsPerSecond", "burst", "networkIds", "methods")
_RESULT: Final = ("address", "result")

ENDPOINTS: Final = (
    _get("/networks", "How busy each network is", questions.networks, "asOf", "networks"),
    _get("/attention", "What needs attention now", questions.attention, "asOf", "attention"),
    _get(
        "/rejections",
        "Rejections, the latest first",
        questions.rejections,
        *("rejections", "cursor"),
        query=questions.RejectionQuery,
    ),
    Endpoint(
        "POST",
        "/lookups",
        "What is known of transactions",
        questions.look_up,
        ("asOf", "transactions"),
        body=questions.Lookup,
    ),
    _get(
        "/tracked",
        "Tracked transactions, the latest first",
        questions.tracked,
        *("transactions", "cursor"),
        query=questions.TrackedQuery,
    ),
    _act(
        "POST /tracked",
        "Track transactions",
        Action.TRACK,
        acts.track,
        "transactions",
        body=acts.Track,
    ),
    _act(
        "PATCH /tracked/{hash}",
        "Change what is said of a tracked transaction",
        Action.EDIT_TRACKED,
        acts.say,
        *("txHash", "label", "note", "caseId", "owner", "tags"),
        body=acts.Said,
    ),
    _act(
        "DELETE /tracked/{hash}",
        "Track a transaction no more",
        Action.UNTRACK,
        acts.untrack,
        *("txHash", "result"),
    ),
    _get("/shares", "Share links", questions.shares, "shares", least=Role.SUPPORT),
    _act(
        "POST /shares",
        "Share what became of one transaction",
        Action.SHARE,
        acts.share,
        *("number", "txHash", "endsAt"),
        body=acts.Share,
        secrets=("link",),
    ),
    _act(
        "DELETE /shares/{number}",
        "Revoke a share link",
        Action.END_SHARE,
        acts.end_share,
        *("number", "state"),
    ),
    _get("/senders", "Watched senders", questions.senders, "senders", query=questions.OfNetwork),
    _act(
        "PUT /senders/{sender}",
        "Watch a sender",
        Action.WATCH_SENDER,
        acts.watch,
        *("from", "result"),
        body=acts.Watch,
    ),
    _act(
        "DELETE /senders/{sender}",
        "Watch a sender no more",
        Action.UNWATCH_SENDER,
        acts.unwatch,
        *("from", "result"),
    ),
    _get(
        "/incidents",
        "Incidents with their stories",
        questions.incidents,
        "incidents",
        query=questions.IncidentQuery,
    ),
    _get("/incidents/{id}", "One incident with its story", questions.incident, "incidentId"),
    _act(
        "POST /incidents/{id}/acknowledge",
        "Own an incident",
        Action.ACKNOWLEDGE,
        acts.acknowledge,
        *_STORY,
        body=acts.Noted,
    ),
    _act(
        "POST /incidents/{id}/unacknowledge",
        "Own an incident no more",
        Action.UNACKNOWLEDGE,
        acts.unacknowledge,
        *_STORY,
        body=acts.Noted,
    ),
    _act(
        "POST /incidents/{id}/hand-over",
        "Let somebody else own an incident",
        Action.HAND_OVER,
        acts.hand_over,
        *_STORY,
        body=acts.HandOver,
    ),
    _act(
        "POST /incidents/{id}/resolve",
        "Resolve an incident",
        Action.RESOLVE,
        acts.resolve,
        *_STORY,
        body=acts.Noted,
    ),
    _get(
        "/silences", "Silences", questions.silences(SilenceKind.SILENCE), SilenceKind.SILENCE + "s"
    ),
    _act(
        "POST /silences",
        "Silence what matchers fit",
        Action.SILENCE,
        acts.plan(SilenceKind.SILENCE),
        *_PLAN,
        body=acts.Planned,
    ),
    _act(
        "DELETE /silences/{number}",
        "End a silence",
        Action.END_SILENCE,
        acts.end(SilenceKind.SILENCE),
        *_PLAN,
    ),
    _get(
        "/maintenance-windows",
        "Maintenance windows",
        questions.silences(SilenceKind.MAINTENANCE),
        "maintenanceWindows",
    ),
    _act(
        "POST /maintenance-windows",
        "Hold notifications of what matchers fit",
        Action.PLAN_MAINTENANCE,
        acts.plan(SilenceKind.MAINTENANCE),
        *_PLAN,
        body=acts.Planned,
    ),
    _act(
        "DELETE /maintenance-windows/{number}",
        "End a maintenance window",
        Action.END_MAINTENANCE,
        acts.end(SilenceKind.MAINTENANCE),
        *_PLAN,
    ),
    _get("/rules", "The rules in force, as one document", questions.rules, "rules"),
    _get("/rules/states", "Each rule with its state now", questions.rule_states, "rules"),
    _act(
        "PUT /rules",
        "Let these rules be in force, and no others",
        Action.CHANGE_RULE,
        acts.set_rules,
        "rules",
        body=acts.RuleSet,
        needs_match=True,
    ),
    _act("DELETE /rules/{name}", "Remove a rule", Action.REMOVE_RULE, acts.remove_rule, "rules"),
    _get("/recipients", "Recipients", questions.recipients, "recipients", "unreached"),
    _act(
        "POST /recipients/off",
        "Send nothing to an address",
        Action.TURN_OFF,
        acts.turn_off,
        *_RESULT,
        body=acts.Address,
    ),
    _act(
        "POST /recipients/on",
        "Send to an address again",
        Action.TURN_ON,
        acts.turn_on,
        *_RESULT,
        body=acts.Address,
    ),
    _act(
        "POST /recipients/verification",
        "Send a verification mail",
        Action.ASK_TO_VERIFY,
        acts.ask_to_verify,
        *_RESULT,
        body=acts.Address,
    ),
    _get(
        "/notifications",
        "Notifications with their attempts, the latest first",
        questions.notifications,
        *("notifications", "cursor"),
        query=Slice,
    ),
    _act(
        "POST /notifications/again",
        "Send dead notifications again",
        Action.RESEND,
        acts.send_again,
        "notifications",
        body=acts.Again,
    ),
    _get("/answers", "Templates for answers", questions.answers, "text", "builtIn", "mistakes"),
    _act(
        "PUT /answers",
        "Change the templates for answers",
        Action.CHANGE_ANSWERS,
        acts.set_answers,
        *("text", "builtIn", "mistakes"),
        body=acts.Templates,
        needs_match=True,
    ),
    _get(
        "/settings",
        "Settings in force with their origin, secrets masked",
        questions.settings,
        *("settings", "changedSinceStart", "mistakes"),
    ),
    _get("/keys", "API keys", questions.keys, "keys", least=_ADMIN),
    _act(
        "POST /keys",
        "Make an API key",
        Action.CREATE_KEY,
        access_acts.create_key,
        *_KEY,
        body=access_acts.NewApiKey,
        secrets=("key", "secret"),
    ),
    _act(
        "PATCH /keys/{name}",
        "Change what an API key may do",
        Action.LIMIT_KEY,
        access_acts.limit_key,
        *_KEY,
        body=access_acts.Limits,
    ),
    _act(
        "POST /keys/{name}/rotation",
        "Give an API key another secret",
        Action.ROTATE_KEY,
        access_acts.rotate_key,
        *_KEY,
        body=access_acts.Rotation,
        secrets=("key", "secret"),
    ),
    _act(
        "DELETE /keys/{name}",
        "Revoke an API key",
        Action.REVOKE_KEY,
        access_acts.revoke_key,
        *("name", "state"),
    ),
    _get("/people", "Who may sign in", questions.people, "people", least=_ADMIN),
    _act(
        "POST /people",
        "Invite somebody by a link",
        Action.INVITE,
        access_acts.invite,
        *("name", "role"),
        body=access_acts.Invitation,
        secrets=("link",),
    ),
    _act(
        "PATCH /people/{name}",
        "Give somebody another role",
        Action.CHANGE_ROLE,
        access_acts.change_role,
        *("name", "role"),
        body=access_acts.NewRole,
    ),
    _act(
        "DELETE /people/{name}",
        "Let somebody sign in no more",
        Action.REMOVE_PERSON,
        access_acts.remove_person,
        *("name", "state"),
    ),
    _get("/sessions", "Who is signed in", questions.sessions, "sessions", least=_ADMIN),
    _act(
        "DELETE /sessions/{id}",
        "End a session",
        Action.END_SESSION,
        access_acts.end_session,
        *("sessionId", "state"),
    ),
    _get("/tokens", "Tokens", questions.tokens, "tokens", least=_ADMIN),
    _act(
        "POST /tokens",
        "Make a token",
        Action.CREATE_TOKEN,
        access_acts.create_token,
        *("name", "role", "subjects", "endsAt"),
        body=access_acts.NewToken,
        secrets=("token",),
    ),
    _act(
        "DELETE /tokens/{name}",
        "Revoke a token",
        Action.REVOKE_TOKEN,
        access_acts.revoke_token,
        *("name", "state"),
    ),
    _get(
        "/audit",
        "Who did what, the latest first",
        questions.audit,
        *("entries", "cursor"),
        query=questions.AuditQuery,
        least=_ADMIN,
    ),
)
