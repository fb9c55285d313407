"""Acts of the management API on who may do what: keys, people, sessions and tokens."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import msgspec

from dashboard.application.keys import NEW_LIMITS, Keys, NewKey
from dashboard.application.listing import Json, instant
from dashboard.application.tokens import LONGEST_LIFE, Tokens
from dashboard.domain.people.access import KeyLimits, Role, parse_key_name, parse_name
from dashboard.errors import NotAllowed
from dashboard.web.api.endpoint import Asked, Fields, Reply, Text


class Limits(Fields):
    """What a key may do; what is left out stays, null allows all or is as configured."""

    network_ids: list[int] | msgspec.UnsetType | None = msgspec.UNSET
    methods: list[Text] | msgspec.UnsetType | None = msgspec.UNSET
    requests_per_second: (
        Annotated[float, msgspec.Meta(ge=0, le=1000000)] | msgspec.UnsetType | None
    ) = msgspec.UNSET
    burst: Annotated[int, msgspec.Meta(ge=1, le=1000000)] | msgspec.UnsetType | None = msgspec.UNSET
    may_report: bool | msgspec.UnsetType = msgspec.UNSET

    def applied_to(self, limits: KeyLimits) -> KeyLimits:
        """Return the limits with what is said here."""
        said = {
            name: getattr(self, name)
            for name in ("network_ids", "methods", "requests_per_second", "burst", "may_report")
            if getattr(self, name) is not msgspec.UNSET
        }
        for name in ("network_ids", "methods"):
            if said.get(name) is not None:
                said[name] = frozenset(said[name])
        return replace(limits, **said)


class NewApiKey(Limits, kw_only=True):
    """A key, which without more may ask everything and report nothing."""

    name: Text


class Rotation(Fields):
    """For how many seconds the old key still works."""

    grace: Annotated[int, msgspec.Meta(ge=0, le=366 * 86_400)] = 0


class Invitation(Fields):
    """Whom to invite, with which role."""

    name: Text
    role: Role = Role.VIEWER


class NewRole(Fields):
    """The role that a person has from now on."""

    role: Role


class NewToken(Fields):
    """A token; without `subjects` it opens all of them."""

    name: Text
    role: Role = Role.VIEWER
    days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_LIFE.days)] = 90
    subjects: list[Text] | None = None


def create_key(asked: Asked) -> Reply:
    said: NewApiKey = asked.body
    name, ask = parse_key_name(said.name), Keys(asked.application.context)
    return _new_key(ask, name, ask.create(name, said.applied_to(NEW_LIMITS), asked.by))


def rotate_key(asked: Asked) -> Reply:
    name, ask = asked.path["name"], Keys(asked.application.context)
    grace = timedelta(seconds=asked.body.grace)
    return _new_key(ask, name, ask.rotate(name, grace, asked.by))


def _new_key(ask: Keys, name: str, new: NewKey) -> Reply:
    secrets = {"key": new.key.reveal(), "secret": new.secret.reveal()}
    return Reply(ask.listing().form(ask.named(name)), secrets)


def limit_key(asked: Asked) -> Reply:
    name, ask = asked.path["name"], Keys(asked.application.context)
    ask.limit(name, asked.body.applied_to, asked.by)
    return Reply(ask.listing().form(ask.named(name)))


def revoke_key(asked: Asked) -> Reply:
    Keys(asked.application.context).revoke(asked.path["name"], asked.by)
    return Reply({"name": asked.path["name"], "state": "revoked"})


def invite(asked: Asked) -> Reply:
    said: Invitation = asked.body
    name = parse_name(said.name)
    token = asked.application.people.invite(name, said.role, asked.by)
    link = f"{asked.address}/invitation/{token.reveal()}"
    return Reply({"name": name, "role": said.role.value}, {"link": link})


def change_role(asked: Asked) -> Reply:
    role: Role = asked.body.role
    asked.application.people.change_role(asked.path["name"], role, asked.by)
    return Reply({"name": asked.path["name"], "role": role.value})


def remove_person(asked: Asked) -> Reply:
    asked.application.people.remove(asked.path["name"], asked.by)
    return Reply({"name": asked.path["name"], "state": "removed"})


def end_session(asked: Asked) -> Reply:
    people = asked.application.people
    found = people.session_beginning(asked.path["id"])
    people.end_session(found.session_id, asked.by)
    return Reply({"sessionId": str(found.session_id), "state": "ended"})


def create_token(asked: Asked) -> Reply:
    said: NewToken = asked.body
    subjects = None if said.subjects is None else frozenset(said.subjects)
    held = asked.token.subjects
    if held is not None and (subjects is None or not subjects <= held):
        raise NotAllowed(
            f"the token {asked.token.name} opens {', '.join(sorted(held))}: it makes none that "
            "opens more"
        )
    lasts = timedelta(days=said.days)
    ask = Tokens(asked.application.context)
    secret = ask.create(said.name, said.role, lasts, asked.by, subjects)
    form: dict[str, Json] = {
        "name": said.name,
        "role": said.role.value,
        "subjects": None if subjects is None else list[Json](sorted(subjects)),
        "endsAt": instant(asked.by.at + lasts),
    }
    return Reply(form, {"token": secret.reveal()})


def revoke_token(asked: Asked) -> Reply:
    Tokens(asked.application.context).revoke(asked.path["name"], asked.by)
    return Reply({"name": asked.path["name"], "state": "revoked"})
