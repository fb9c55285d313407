"""Endpoints about who may do what, and who did: keys, people, sessions, tokens, the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import replace

from dashboard.application.accounts import PEOPLE, SESSIONS
from dashboard.application.audit import AUDIT, AuditLog
from dashboard.application.keys import NEW_LIMITS, Keys, NewKey
from dashboard.application.listing import Json
from dashboard.application.tokens import LONGEST_LIFE, TOKENS, Tokens
from dashboard.domain.people.access import (
    READS_ACCESS,
    Action,
    AuditEntry,
    KeyLimits,
    Role,
    parse_key_name,
    parse_name,
)
from dashboard.store.access.audit_log import AuditFilter
from dashboard.web.api.endpoint import (
    Asked,
    Endpoints,
    Fields,
    Found,
    Moment,
    Reply,
    Search,
    Slice,
    Text,
    part_of,
)

endpoints = Endpoints()
_KEY: Final = "name state requestsPerSecond burst networkIds methods"


class Limits(Fields):
    """What a key may do; an omitted field stays, null allows all or is as configured."""

    network_ids: list[int] | msgspec.UnsetType | None = msgspec.UNSET
    methods: list[Text] | msgspec.UnsetType | None = msgspec.UNSET
    requests_per_second: (
        Annotated[float, msgspec.Meta(ge=0, le=1000000)] | msgspec.UnsetType | None
    ) = msgspec.UNSET
    burst: Annotated[int, msgspec.Meta(ge=1, le=1000000)] | msgspec.UnsetType | None = msgspec.UNSET
    may_report: bool | msgspec.UnsetType = msgspec.UNSET

    def applied_to(self, limits: KeyLimits) -> KeyLimits:
        said: dict[str, Any] = {
            name: frozenset(value) if isinstance(value, list) else value
            for name in Limits.__struct_fields__
            if (value := getattr(self, name)) is not msgspec.UNSET
        }
        return replace(limits, **said)


class NewApiKey(Limits, kw_only=True):
    """A key, which by default may ask everything and report nothing."""

    name: Text


class Rotation(Fields):
    """How many seconds the old key still works."""

    grace: Annotated[int, msgspec.Meta(ge=0, le=366 * 86_400)] = 0


@endpoints.listed("/keys", "API keys", least=READS_ACCESS)
def keys(asked: Asked) -> Found:
    ask = Keys(asked.context)
    return ask.listing(), ask.all()


@endpoints.at(
    "POST /keys", "Create an API key", _KEY, Action.CREATE_KEY, NewApiKey, secrets=("key", "secret")
)
def create_key(asked: Asked) -> Reply:
    said: NewApiKey = asked.body
    name = parse_key_name(said.name)
    new = Keys(asked.context).create(name, said.applied_to(NEW_LIMITS), asked.by)
    return _key(asked, name, new)


@endpoints.at(
    "POST /keys/{name}/rotation",
    "Rotate an API key",
    _KEY,
    Action.ROTATE_KEY,
    Rotation,
    secrets=("key", "secret"),
)
def rotate_key(asked: Asked) -> Reply:
    grace = timedelta(seconds=asked.body.grace)
    return _key(asked, asked.name, Keys(asked.context).rotate(asked.name, grace, asked.by))


@endpoints.at(
    "PATCH /keys/{name}", "Change the limits of an API key", _KEY, Action.LIMIT_KEY, Limits
)
def limit_key(asked: Asked) -> Reply:
    Keys(asked.context).limit(asked.name, asked.body.applied_to, asked.by)
    return _key(asked, asked.name)


def _key(asked: Asked, name: str, new: NewKey | None = None) -> Reply:
    ask = Keys(asked.context)
    secrets = {} if new is None else {"key": new.key.reveal(), "secret": new.secret.reveal()}
    return Reply(ask.listing().form(ask.named(name)), secrets)


@endpoints.at("DELETE /keys/{name}", "Revoke an API key", "name state", Action.REVOKE_KEY)
def revoke_key(asked: Asked) -> Reply:
    Keys(asked.context).revoke(asked.name, asked.by)
    return Reply({"name": asked.name, "state": "revoked"})


@endpoints.listed("/people", "Who may sign in", least=READS_ACCESS)
def people(asked: Asked) -> Found:
    return PEOPLE, asked.application.people.all()


class Invitation(Fields):
    """Whom to invite, with which role; null: the present role, for a new person viewer."""

    name: Text
    role: Role | None = None


class NewRole(Fields):
    """The role that a person has from now on."""

    role: Role


@endpoints.at(
    "POST /people",
    "Invite somebody by a link",
    "name role",
    Action.INVITE,
    Invitation,
    secrets=("link",),
)
def invite(asked: Asked) -> Reply:
    said: Invitation = asked.body
    name = parse_name(said.name)
    link, role = asked.application.people.invitation(name, said.role, asked.by, asked.address)
    return Reply({"name": name, "role": role.value}, {"link": link})


@endpoints.at(
    "PATCH /people/{name}", "Change the role of somebody", "name role", Action.CHANGE_ROLE, NewRole
)
def change_role(asked: Asked) -> Reply:
    role: Role = asked.body.role
    asked.application.people.change_role(asked.name, role, asked.by)
    return Reply({"name": asked.name, "role": role.value})


@endpoints.at(
    "POST /people/{name}/disable",
    "Disable somebody and end their sessions",
    "name state tokens",
    Action.DISABLE_PERSON,
)
def disable_person(asked: Asked) -> Reply:
    ended = asked.application.people.disable(asked.name, asked.by)
    return Reply({"name": asked.name, "state": "disabled", "tokens": list[Json](ended)})


@endpoints.at(
    "POST /people/{name}/enable",
    "Enable somebody again",
    "name state",
    Action.ENABLE_PERSON,
)
def enable_person(asked: Asked) -> Reply:
    asked.application.people.enable(asked.name, asked.by)
    return Reply({"name": asked.name, "state": "enabled"})


@endpoints.at(
    "DELETE /people/{name}/sessions",
    "End all sessions of somebody",
    "name ended",
    Action.END_SESSION,
)
def end_sessions_of(asked: Asked) -> Reply:
    ended = asked.application.people.end_sessions_of(asked.name, asked.by)
    return Reply({"name": asked.name, "ended": ended})


@endpoints.at(
    "DELETE /people/{name}",
    "Remove somebody",
    "name state tokens",
    Action.REMOVE_PERSON,
)
def remove_person(asked: Asked) -> Reply:
    ended = asked.application.people.remove(asked.name, asked.by)
    return Reply({"name": asked.name, "state": "removed", "tokens": list[Json](ended)})


@endpoints.at(
    "DELETE /people/{name}/factors",
    "Remove second factors that were lost",
    "name factors",
    Action.RESET_FACTORS,
)
def reset_factors(asked: Asked) -> Reply:
    asked.application.people.reset_factors(asked.name, asked.by)
    return Reply({"name": asked.name, "factors": []})


@endpoints.listed("/sessions", "Who is signed in", least=READS_ACCESS)
def sessions(asked: Asked) -> Found:
    return SESSIONS, asked.application.people.sessions()


@endpoints.at("DELETE /sessions/{id}", "End a session", "sessionId state", Action.END_SESSION)
def end_session(asked: Asked) -> Reply:
    known = asked.application.people
    found = known.session_beginning(asked.path["id"])
    known.end_session(found.session_id, asked.by)
    return Reply({"sessionId": str(found.session_id), "state": "ended"})


@endpoints.listed("/tokens", "Tokens", least=READS_ACCESS)
def tokens(asked: Asked) -> Found:
    return TOKENS, Tokens(asked.context).all()


class NewToken(Fields):
    """A token; without `subjects` it gives access to all of them. `person` is its owner."""

    name: Text
    role: Role = Role.VIEWER
    days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_LIFE.days)] = 90
    subjects: list[Text] | None = None
    person: Text | None = None


@endpoints.at(
    "POST /tokens",
    "Create a token",
    "name role person subjects endsAt",
    Action.CREATE_TOKEN,
    NewToken,
    secrets=("token",),
)
def create_token(asked: Asked) -> Reply:
    said: NewToken = asked.body
    subjects = None if said.subjects is None else frozenset(said.subjects)
    lasts = timedelta(days=said.days)
    ask = Tokens(asked.context)
    made = ask.create(said.name, said.role, lasts, asked.by, subjects, said.person)
    return Reply(TOKENS.form(made.token), {"token": made.secret.reveal()})


@endpoints.at("DELETE /tokens/{name}", "Revoke a token", "name state ended", Action.REVOKE_TOKEN)
def revoke_token(asked: Asked) -> Reply:
    ended = Tokens(asked.context).revoke(asked.name, asked.by)
    return Reply({"name": asked.name, "state": "revoked", "ended": list[Json](ended)})


class AuditQuery(Slice):
    """Which entries to list, the latest first."""

    action: Action | None = None
    since: Moment | None = None
    until: Moment | None = None
    actor: Search = ""
    origin: Search = msgspec.field(default="", name="from")
    search: Search = ""


@endpoints.at(
    "GET /audit",
    "Who did what, the latest first",
    "entries cursor",
    query=AuditQuery,
    least=READS_ACCESS,
)
def audit(asked: Asked) -> Reply:
    query: AuditQuery = asked.query

    wanted = AuditFilter(
        query.action, query.since, query.until, query.actor, query.origin, query.search
    )

    def read(before: tuple[datetime, int] | None, limit: int) -> Sequence[AuditEntry]:
        return AuditLog(asked.context).entries(wanted, limit, before=before)

    shown, cursor = part_of(asked, read, lambda each: (each.at, each.audit_id), int)
    return Reply({AUDIT.key: AUDIT.forms(shown), "cursor": cursor})
