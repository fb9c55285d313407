"""Who may sign in: people are invited by a link, given a role, disabled and removed."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from dashboard.application.context import ApplicationSubject
from dashboard.application.listing import Column, Listing, for_programs, time_column
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, Role, digest, parse_name
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.factors import remove_factors
from dashboard.store.access.people import (
    Person,
    Session,
    add_person,
    all_people,
    change_role,
    disable_person,
    end_sessions_of,
    find_person,
    invitation_ends,
    last_uses,
    remove_person,
    save_invitation,
)
from dashboard.store.access.tokens import end_tokens_of
from dashboard.store.engine.connection import Connection

INVITED_FOR: Final = timedelta(hours=72)
INVITATION: Final = "/invitation/"
"""The path of an invitation, which its token follows."""

_TOKEN_BYTES: Final = 32


class Account(Struct, frozen=True):
    """A person, when they were last here, and how long their invitation is valid."""

    person: Person
    last_used_at: datetime | None = None
    invited_until: datetime | None = None

    @property
    def state(self) -> str:
        """Whether they can sign in, in the words of lists."""
        if self.person.is_disabled:
            return "disabled"
        if self.person.can_sign_in:
            return "can sign in"
        return "invited" if self.invited_until is not None else "invitation expired"


class Accounts(ApplicationSubject):
    def all(self) -> list[Account]:
        """Return everybody who may sign in, or was disabled or invited, by name."""
        now = self._context.now()
        with self._context.store.read() as connection:
            people = all_people(connection)
            uses, ends = last_uses(connection), invitation_ends(connection)
        valid = {person_id: end for person_id, end in ends.items() if end > now}
        return [
            Account(each, uses.get(each.person_id), valid.get(each.person_id)) for each in people
        ]

    def invitation(self, name: str, role: Role | None, by: Actor, here: str) -> tuple[str, Role]:
        """Invite somebody and return the link, and their role.

        The link is below `here` if the settings have no public_url.
        """
        token, given = self._invite(name, role, by)
        address = self._context.settings.public_url or here
        return f"{address.rstrip('/')}{INVITATION}{token.reveal()}", given

    def invite(self, name: str, role: Role | None, by: Actor) -> Secret:
        """Invite somebody, or let somebody who exists set a new password, with this role.

        Without a role, somebody who exists keeps theirs, and anybody else is a viewer. Returns the
        token of the link, which is valid once and for three days.
        """
        return self._invite(name, role, by)[0]

    def _invite(self, name: str, role: Role | None, by: Actor) -> tuple[Secret, Role]:
        name, token = parse_name(name), Secret(secrets.token_urlsafe(_TOKEN_BYTES))
        with self._context.store.write() as connection:
            known = find_person(connection, name)
            role = role or (Role.VIEWER if known is None else known.role)
            note_action(connection, by, Action.INVITE, name, {"role": role.value})
            if not add_person(connection, name, role, by.at):
                person = _named(connection, name)
                _refuse_invitation(person)
                _give_role(connection, person, role)
            person = _named(connection, name)
            save_invitation(connection, person, digest(token.reveal()), by.at + INVITED_FOR)
        return token, role

    def change_role(self, name: str, role: Role, by: Actor) -> None:
        """Give a person another role, in force at once."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            details = {"from": person.role.value, "to": role.value}
            note_action(connection, by, Action.CHANGE_ROLE, person.name, details)
            if person.issuer is not None:
                raise InputError(
                    f"the groups of {shorten(person.name)} at {shorten(person.issuer)} give the "
                    "role: change them there, or what they may do in [sign_in]"
                )
            _give_role(connection, person, role)

    def disable(self, name: str, by: Actor) -> list[str]:
        """Disable a person until they are enabled again, and end their sessions and tokens.

        Returns the names of the tokens.
        """
        with self._context.store.write() as connection:
            person = _named(connection, name)
            tokens = end_tokens_of(connection, person, by.at)
            note_action(connection, by, Action.DISABLE_PERSON, person.name, {"tokens": tokens})
            _refuse_last_admin(connection, person)
            disable_person(connection, person, by.at)
        return tokens

    def enable(self, name: str, by: Actor) -> None:
        """Let a disabled person sign in again, with their old password."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            note_action(connection, by, Action.ENABLE_PERSON, person.name)
            disable_person(connection, person, None)

    def remove(self, name: str, by: Actor) -> list[str]:
        """Remove a person and end their sessions and tokens; return the names of the tokens."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            tokens = end_tokens_of(connection, person, by.at)
            note_action(connection, by, Action.REMOVE_PERSON, person.name, {"tokens": tokens})
            _refuse_last_admin(connection, person)
            remove_factors(connection, person)
            remove_person(connection, person, by.at)
        return tokens

    def reset_factors(self, name: str, by: Actor) -> None:
        """Remove authenticator app, recovery codes and passkeys, and end all sessions."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            note_action(
                connection, by, Action.RESET_FACTORS, person.name, {"factors": person.factors}
            )
            remove_factors(connection, person)
            end_sessions_of(connection, person, by.at)

    def end_sessions_of(self, name: str, by: Actor) -> int:
        """End every session of a person; return how many."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            ended = end_sessions_of(connection, person, by.at)
            note_action(connection, by, Action.END_SESSION, person.name, {"ended": ended})
        return ended


def _give_role(connection: Connection, person: Person, role: Role) -> None:
    if role is not Role.ADMIN:
        _refuse_last_admin(connection, person)
    change_role(connection, person, role)


def _named(connection: Connection, name: str) -> Person:
    person = find_person(connection, name)
    if person is None:
        raise NotFound(f"nobody is called {shorten(name)}: see `linewatch people list`")
    return person


def _refuse_invitation(person: Person) -> None:
    """Raise InputError for a person whom a link cannot let in, or who does not need one."""
    if person.is_disabled:
        raise InputError(f"{shorten(person.name)} is disabled: enable them first")
    if person.issuer is not None:
        raise InputError(
            f"{shorten(person.name)} signs in at {shorten(person.issuer)} and has no password here"
        )


def _refuse_last_admin(connection: Connection, person: Person) -> None:
    """Raise InputError for the only admin who can sign in."""
    admins = [each for each in all_people(connection) if each.role is Role.ADMIN]
    can_sign_in = [each.person_id for each in admins if each.can_sign_in]
    if can_sign_in == [person.person_id]:
        raise InputError(
            f"{shorten(person.name)} is the only admin who can sign in: make somebody else one"
        )


def _device(session: Session) -> str:
    """Name a device by its label, if it has one, and by its browser."""
    named = f"{visible(session.label)}: " if session.label else ""
    return f"{named}{visible(session.device)}"


PEOPLE: Final[Listing[Account]] = Listing(
    "people",
    (
        Column(
            "name", lambda each: visible(each.person.name), "name", lambda each: each.person.name
        ),
        Column("role", lambda each: each.person.role.value, "role"),
        Column("state", lambda each: each.state, "state"),
        Column(
            "factors",
            lambda each: ", ".join(each.person.factors) or "none",
            "factors",
            lambda each: [*each.person.factors],
        ),
        Column(
            "signs in with",
            lambda each: visible(each.person.issuer or "password"),
            "issuer",
            lambda each: each.person.issuer,
        ),
        time_column("last used", "lastUsedAt", lambda each: each.last_used_at, "never"),
        time_column("since", "since", lambda each: each.person.created_at),
        time_column("invited until", "invitedUntil", lambda each: each.invited_until),
    ),
    "Nobody may sign in.",
)

SESSIONS: Final[Listing[Session]] = Listing(
    "sessions",
    (
        for_programs("sessionId", lambda each: str(each.session_id)),
        Column("session", lambda each: str(each.session_id)[:8]),
        Column("name", lambda each: visible(each.person.name), "name"),
        Column("device", _device, "device", lambda each: visible(each.device)),
        for_programs("label", lambda each: visible(each.label)),
        Column("from", lambda each: visible(each.address), "from"),
        time_column("signed in", "signedInAt", lambda each: each.created_at),
        time_column("last used", "lastUsedAt", lambda each: each.last_used_at),
        time_column("ends", "endsAt", lambda each: each.ends_at),
    ),
    "Nobody is signed in.",
)
