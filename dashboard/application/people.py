"""People who sign in: invited, with a password, a role and sessions that can be ended."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from dashboard.application.context import ApplicationContext
from dashboard.application.factors import CodeAsked, Factors
from dashboard.application.sessions import (
    SECRET_BYTES,
    Device,
    NewSession,
    Sessions,
    acting,
)
from dashboard.domain.people.access import LONGEST_NAME, Action, Actor, Role, digest, parse_name
from dashboard.domain.people.sign_in import Identity, Issuer, refuse_weak_password
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.factors import remove_factors
from dashboard.store.access.people import (
    Person,
    add_person,
    add_subject,
    all_people,
    change_role,
    confirm_session,
    end_sessions_at,
    end_sessions_of,
    find_person,
    find_subject,
    invited_person,
    remove_person,
    save_invitation,
    save_password,
    use_invitation,
)
from dashboard.store.engine.connection import Connection

INVITED_FOR: Final = timedelta(hours=72)


class People(Sessions):
    def __init__(self, context: ApplicationContext, hasher: PasswordHasher | None = None) -> None:
        super().__init__(context)
        self._hasher = hasher or PasswordHasher()
        self.factors = Factors(context, self)

    def all(self) -> list[Person]:
        """Return who may sign in, by name."""
        with self._context.store.read() as connection:
            return all_people(connection)

    def invite(self, name: str, role: Role, by: Actor) -> Secret:
        """Invite somebody, with a new password and this role also who is there already.

        Returns the token of the link. It is valid once, for three days.
        """
        name, token = parse_name(name), Secret(secrets.token_urlsafe(SECRET_BYTES))
        with self._context.store.write() as connection:
            note_action(connection, by, Action.INVITE, name, {"role": role.value})
            if not add_person(connection, name, role, by.at):
                self._give_role(connection, _named(connection, name), role)
            person = _named(connection, name)
            save_invitation(connection, person, digest(token.reveal()), by.at + INVITED_FOR)
        return token

    def invited(self, token: str) -> Person | None:
        """Return whom a link invites; None where it is used, over or was never made."""
        with self._context.store.read() as connection:
            return invited_person(connection, digest(token), self._context.now())

    def accept(self, token: str, password: Secret, device: Device) -> NewSession:
        """Set the password of an invited person and sign them in; all other sessions end.

        CodeAsked for who has an authenticator app: a link replaces the password alone.
        """
        person = self.invited(token)
        if person is None:
            raise InputError("this invitation was used or has expired: ask for another one")
        refuse_weak_password(password, person.name)
        hashed = self._hash(password)
        with self._context.store.write() as connection:
            now = self._context.now()
            if invited_person(connection, digest(token), now) is None:
                raise InputError("this invitation was used in this moment: sign in")
            use_invitation(connection, person)
            by = acting(person, now, device)
            note_action(connection, by, Action.SET_PASSWORD, person.name)
            save_password(connection, person, hashed)
            end_sessions_of(connection, person, now)
            outcome = self.factors.begin_or_ask(connection, person, device)
        return _begun(outcome)

    def sign_in(self, name: str, password: Secret, device: Device) -> NewSession:
        """Begin a session, or raise InputError, which tells not whether there is such a person.

        CodeAsked where the password is right, and takes a code as well.
        """
        name = " ".join(name.split())
        with self._context.store.read() as connection:
            person = find_person(connection, name)
        if not self._is_right(person, password, name, device.address) or person is None:
            raise InputError("the name or the password is wrong: try again, or ask an admin")
        with self._context.store.write() as connection:
            found = find_person(connection, name)
            if found is None or found.password_hash != person.password_hash:
                raise InputError("the password was changed in this moment: sign in again")
            self._rehash(connection, found, password)
            outcome = self.factors.begin_or_ask(connection, found, device)
        if not found.has_app:
            self._succeeded(name, device.address)
        return _begun(outcome)

    def sign_in_by(self, identity: Identity, device: Device) -> NewSession:
        """Begin a session of whom an issuer vouches for, with the role that their groups give."""
        issuer = identity.issuer
        role = issuer.role_of(identity.groups)
        if role is None:
            raise NotAllowed(
                f"none of your groups at {issuer.label} has a role here: ask an admin for one"
            )
        with self._context.store.write() as connection:
            person = _subject(connection, identity, role, self._context.now())
            change_role(connection, person, role)
            person = replace(person, role=role)
            return self.begin(connection, person, device, issuer.label, identity.sid)

    def end_sessions_at(self, issuer: Issuer, subject: str | None, sid: str | None) -> None:
        """End the sessions that an issuer says are over: of a subject, of one `sid`, or both."""
        with self._context.store.write() as connection:
            end_sessions_at(connection, issuer.url, subject, sid, self._context.now())

    def change_password(self, session_id: UUID, old: Secret, new: Secret) -> None:
        """Give the person of a session another password; their other sessions end."""
        person = self._confirmed(session_id, old)
        refuse_weak_password(new, person.name)
        hashed = self._hash(new)
        with self._context.store.write() as connection:
            by, _ = self.acting_in(connection, session_id)
            note_action(connection, by, Action.SET_PASSWORD, person.name)
            save_password(connection, person, hashed)
            end_sessions_of(connection, person, by.at, but=session_id)

    def confirm(self, session_id: UUID, password: Secret) -> None:
        """Let a person prove again who they are, before they change how they sign in."""
        self._confirmed(session_id, password)
        with self._context.store.write() as connection:
            by, _ = self.acting_in(connection, session_id)
            confirm_session(connection, session_id, by.at)

    def change_role(self, name: str, role: Role, by: Actor) -> None:
        """Give a person another role, in force at once."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            details = {"from": person.role.value, "to": role.value}
            note_action(connection, by, Action.CHANGE_ROLE, person.name, details)
            if person.issuer is not None:
                raise InputError(
                    f"the groups of {shorten(person.name)} at {shorten(person.issuer)} give the "
                    "role: change them there, or what they may do in [sign_in.issuers]"
                )
            self._give_role(connection, person, role)

    def remove(self, name: str, by: Actor) -> None:
        """Let somebody sign in no more, and end their sessions."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            note_action(connection, by, Action.REMOVE_PERSON, person.name)
            _refuse_last_admin(connection, person)
            remove_factors(connection, person)
            remove_person(connection, person, by.at)

    def reset_factors(self, name: str, by: Actor) -> None:
        """Take authenticator app, recovery codes and passkeys away, and end all sessions."""
        with self._context.store.write() as connection:
            person = _named(connection, name)
            note_action(
                connection, by, Action.RESET_FACTORS, person.name, {"factors": person.factors}
            )
            remove_factors(connection, person)
            end_sessions_of(connection, person, by.at)

    def _give_role(self, connection: Connection, person: Person, role: Role) -> None:
        if role is not Role.ADMIN:
            _refuse_last_admin(connection, person)
        change_role(connection, person, role)

    def _confirmed(self, session_id: UUID, password: Secret) -> Person:
        """Return the person of a session, if this is their password."""
        with self._context.store.read() as connection:
            _, session = self.acting_in(connection, session_id)
        person, address = session.person, session.address
        if not self._is_right(person, password, person.name, address):
            raise InputError("the present password is wrong: type it again")
        self._succeeded(person.name, address)
        return person

    def _is_right(self, person: Person | None, password: Secret, name: str, address: str) -> bool:
        """Whether the password is that of a person; takes as long where there is none."""
        with self.throttle() as throttle:
            throttle.attempt(name, address, self._context.now())
        stored = None if person is None else person.password_hash
        try:
            self._hasher.verify(stored or self._hash_of_nobody, password.reveal())
        except VerificationError:
            return False
        return stored is not None

    def _succeeded(self, name: str, address: str) -> None:
        with self.throttle() as throttle:
            throttle.succeeded(name, address)

    def _hash(self, password: Secret) -> str:
        return self._hasher.hash(password.reveal())

    @cached_property
    def _hash_of_nobody(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe(SECRET_BYTES))

    def _rehash(self, connection: Connection, person: Person, password: Secret) -> None:
        """Hash a password anew if it was hashed with less effort than is usual now."""
        if person.password_hash and self._hasher.check_needs_rehash(person.password_hash):
            save_password(connection, person, self._hash(password))


def _begun(outcome: NewSession | CodeAsked) -> NewSession:
    if isinstance(outcome, CodeAsked):
        raise outcome
    return outcome


def _subject(connection: Connection, identity: Identity, role: Role, now: datetime) -> Person:
    """Return whom an issuer vouches for; a newcomer whose name is taken gets a number after it."""
    issuer, subject = identity.issuer.url, identity.subject
    found = find_subject(connection, issuer, subject)
    name, number = " ".join(identity.name.split())[: LONGEST_NAME - 8], 1
    while found is None:
        number += 1
        add_subject(connection, issuer, subject, name or identity.issuer.label, role, now)
        found = find_subject(connection, issuer, subject)
        name = f"{name.rsplit(' #', 1)[0]} #{number}"
    return found


def _named(connection: Connection, name: str) -> Person:
    person = find_person(connection, name)
    if person is None:
        raise NotFound(f"nobody is called {shorten(name)}: see `linewatch people list`")
    return person


def _refuse_last_admin(connection: Connection, person: Person) -> None:
    """Raise InputError where nobody could give roles and invite people without this person."""
    others = [each for each in all_people(connection) if each.person_id != person.person_id]
    can_sign_in = [each for each in others if each.can_sign_in]
    if person.role is Role.ADMIN and not any(each.role is Role.ADMIN for each in can_sign_in):
        raise InputError(
            f"{shorten(person.name)} is the only admin who can sign in: make somebody else one"
        )
