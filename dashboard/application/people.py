"""How people sign in: with a password, by a link that sets one, or by an issuer."""

from __future__ import annotations

import secrets
from datetime import datetime
from functools import cached_property
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from msgspec.structs import replace

from dashboard.application.accounts import Accounts
from dashboard.application.context import ApplicationContext
from dashboard.application.factors import CodeAsked, Factors, PasskeyAsked
from dashboard.application.sessions import SECRET_BYTES, Device, NewSession, Sessions, acting
from dashboard.domain.people.access import LONGEST_NAME, Action, Role, digest
from dashboard.domain.people.sign_in import Identity, Issuer, refuse_weak_password
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.people import (
    Person,
    add_subject,
    change_role,
    confirm_session,
    drop_invitation,
    end_sessions_at,
    end_sessions_of,
    find_person,
    find_subject,
    invited_person,
    note_second_factor,
    save_password,
)
from dashboard.store.engine.connection import Connection


class People(Sessions, Accounts):
    def __init__(self, context: ApplicationContext, hasher: PasswordHasher | None = None) -> None:
        super().__init__(context)
        self._hasher = hasher or PasswordHasher()
        self.factors = Factors(context, self)

    def invited(self, token: str) -> Person | None:
        """Return the person whom a link invites; None if it was used, is over or never existed."""
        with self._context.store.read() as connection:
            return invited_person(connection, digest(token), self._context.now())

    def accept(self, token: str, password: Secret, device: Device) -> NewSession:
        """Set the password of an invited person and sign them in; all other sessions end.

        A link only replaces the password: CodeAsked if the person has an authenticator app,
        PasskeyAsked if their role requires their passkey.
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
            drop_invitation(connection, person)
            by = acting(person, now, device)
            note_action(connection, by, Action.SET_PASSWORD, person.name)
            save_password(connection, person, hashed)
            end_sessions_of(connection, person, now)
            outcome = self.factors.begin_or_ask(connection, person, device)
        return _begun(outcome)

    def sign_in(self, name: str, password: Secret, device: Device) -> NewSession:
        """Begin a session, or raise InputError, which does not reveal whether the person exists.

        CodeAsked if the password is right but a code is needed as well; PasskeyAsked if the role
        requires a passkey instead.
        """
        name = " ".join(name.split())
        if len(name) > LONGEST_NAME:  # nobody has it: keeps the throttle's memory small
            name = ""
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
        """Begin a session for a person whom an issuer identifies, with the role of their groups."""
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
        """End the sessions that an issuer ended: of a subject, of one `sid`, or both."""
        with self._context.store.write() as connection:
            end_sessions_at(connection, issuer.url, subject, sid, self._context.now())

    def change_password(self, session_id: UUID, old: Secret, new: Secret) -> None:
        """Change the password of a session's person; their other sessions end."""
        person, address = self._confirmed(session_id, old)
        self._succeeded(person.name, address)
        refuse_weak_password(new, person.name)
        hashed = self._hash(new)
        with self._context.store.write() as connection:
            by, session = self.acting_in(connection, session_id)
            self.require_factor(session)
            note_action(connection, by, Action.SET_PASSWORD, person.name)
            save_password(connection, person, hashed)
            end_sessions_of(connection, person, by.at, but=session_id)

    def confirm(self, session_id: UUID, password: Secret, code: str = "") -> None:
        """Let a person prove again who they are, before they change how they sign in.

        With an authenticator app, a code is needed as well, as at a sign-in.
        """
        person, address = self._confirmed(session_id, password)
        if person.has_app:
            with self.throttle() as throttle:
                throttle.attempt_code(person.name, address, self._context.now())
        with self._context.store.write() as connection:
            by, session = self.acting_in(connection, session_id)
            if session.person.has_app:
                self.factors.use_code(connection, session.person, code)
                note_second_factor(connection, session_id)
            confirm_session(connection, session_id, by.at)
        with self.throttle() as throttle:
            throttle.succeeded(person.name, address, by_code=person.has_app)

    def _confirmed(self, session_id: UUID, password: Secret) -> tuple[Person, str]:
        """Return the person and the address of a session if the password is right."""
        with self._context.store.read() as connection:
            _, session = self.acting_in(connection, session_id)
        person, address = session.person, session.address
        if not self._is_right(person, password, person.name, address):
            raise InputError("the current password is wrong: type it again")
        return person, address

    def _is_right(self, person: Person | None, password: Secret, name: str, address: str) -> bool:
        """Whether the password is right; takes as long if the person does not exist."""
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
        """Hash a password again if the stored hash is weaker than the present default."""
        if person.password_hash and self._hasher.check_needs_rehash(person.password_hash):
            save_password(connection, person, self._hash(password))


def _begun(outcome: NewSession | CodeAsked | PasskeyAsked) -> NewSession:
    if not isinstance(outcome, NewSession):
        raise outcome
    return outcome


def _subject(connection: Connection, identity: Identity, role: Role, now: datetime) -> Person:
    """Return the person of an identity, created if new, with a number if the name is taken."""
    issuer, subject = identity.issuer.url, identity.subject
    found = find_subject(connection, issuer, subject)
    name, number = " ".join(identity.name.split())[: LONGEST_NAME - 8], 1
    while found is None:
        number += 1
        add_subject(connection, issuer, subject, name or identity.issuer.label, role, now)
        found = find_subject(connection, issuer, subject)
        name = f"{name.rsplit(' #', 1)[0]} #{number}"
    return found
