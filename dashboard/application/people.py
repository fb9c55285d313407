"""People who sign in: invited, with a password, a role and sessions that can be ended."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from threading import Lock
from typing import Final
from uuid import UUID, uuid4

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.domain.people.access import LONGEST_NAME, Action, Actor, Role, digest, parse_name
from dashboard.domain.people.sign_in import (
    AttemptThrottle,
    Identity,
    Issuer,
    SignInPolicy,
    refuse_weak_password,
)
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.people import (
    Person,
    Session,
    add_person,
    add_subject,
    all_people,
    change_role,
    end_session,
    end_sessions_at,
    end_sessions_of,
    find_person,
    find_session,
    find_subject,
    invited_person,
    note_session_use,
    remove_person,
    save_invitation,
    save_password,
    save_session,
    session_of_secret,
    sessions_among,
    sessions_not_ended,
    use_invitation,
)
from dashboard.store.engine.connection import Connection

_SECRET_BYTES: Final = 32
_NOTED_EVERY: Final = timedelta(minutes=1)
"""How often the use of a session is written."""

_ROLE_SHOWN_FOR: Final = timedelta(milliseconds=500)

INVITED_FOR: Final = timedelta(hours=72)


@dataclass(frozen=True, slots=True)
class Device:
    """From where somebody signs in; `name` is what the browser says of itself. Both are foreign."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that begins; the browser alone keeps its secret."""

    session: Session
    secret: Secret


class People(ApplicationSubject):
    def __init__(self, context: ApplicationContext, hasher: PasswordHasher | None = None) -> None:
        super().__init__(context)
        self._policy = context.settings.sign_in
        self._throttle = AttemptThrottle()
        self._counting = Lock()
        self._hasher = hasher or PasswordHasher()

    @property
    def must_sign_in(self) -> bool:
        """Whether pages are shown only to people who signed in."""
        return self._policy is not None

    @property
    def policy(self) -> SignInPolicy | None:
        """Who lets people in, and for how long; None where pages are open."""
        return self._policy

    def all(self) -> list[Person]:
        """Return who may sign in, by name."""
        with self._context.store.read() as connection:
            return all_people(connection)

    def invite(self, name: str, role: Role, by: Actor) -> Secret:
        """Invite somebody, with a new password and this role also who is there already.

        Returns the token of the link. It is valid once, for three days.
        """
        name, token = parse_name(name), Secret(secrets.token_urlsafe(_SECRET_BYTES))
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
        """Set the password of an invited person and sign them in; all other sessions end."""
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
            by = _acting(person, now, device)
            note_action(connection, by, Action.SET_PASSWORD, person.name)
            save_password(connection, person, hashed)
            end_sessions_of(connection, person, now)
            return self._begin(connection, person, device, by)

    def sign_in(self, name: str, password: Secret, device: Device) -> NewSession:
        """Begin a session, or raise InputError, which tells not whether there is such a person."""
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
            return self._begin(
                connection, found, device, _acting(found, self._context.now(), device)
            )

    def sign_in_by(self, identity: Identity, device: Device) -> NewSession:
        """Begin a session of whom an issuer vouches for, with the role that their groups give."""
        issuer = identity.issuer
        role = issuer.role_of(identity.groups)
        if role is None:
            raise NotAllowed(
                f"none of your groups at {issuer.label} has a role here: ask an admin for one"
            )
        with self._context.store.write() as connection:
            now = self._context.now()
            person = _subject(connection, identity, role, now)
            change_role(connection, person, role)
            person = replace(person, role=role)
            by = _acting(person, now, device)
            return self._begin(connection, person, device, by, identity.sid)

    def end_sessions_at(self, issuer: Issuer, subject: str | None, sid: str | None) -> None:
        """End the sessions that an issuer says are over: of a subject, of one `sid`, or both."""
        with self._context.store.write() as connection:
            end_sessions_at(connection, issuer.url, subject, sid, self._context.now())

    def change_password(self, session_id: UUID, old: Secret, new: Secret) -> None:
        """Give the person of a session another password; their other sessions end."""
        with self._context.store.read() as connection:
            session = _stored_session(connection, session_id)
        person = session.person
        if not self._is_right(person, old, person.name, session.address):
            raise InputError("the present password is wrong: type it again")
        refuse_weak_password(new, person.name)
        hashed = self._hash(new)
        with self._context.store.write() as connection:
            by = self._acting_in(connection, session_id)
            note_action(connection, by, Action.SET_PASSWORD, person.name)
            save_password(connection, person, hashed)
            end_sessions_of(connection, person, by.at, but=session_id)

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
            remove_person(connection, person, by.at)

    def session(self, secret: Secret) -> Session | None:
        """Return the session of a cookie, None where it is over; its use is noted."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = session_of_secret(connection, digest(secret.reveal()))
        if found is None or self._is_over(found, now):
            return None
        self._note_use([found], now)
        return found

    def valid_among(self, session_ids: Collection[UUID]) -> set[UUID]:
        """Return those of these sessions that are not over; all of them are in use now."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = sessions_among(connection, session_ids)
        valid = [each for each in found if not self._is_over(each, now)]
        self._note_use(valid, now)
        return {each.session_id for each in valid}

    def actor(self, session_id: UUID) -> Actor:
        """Return who acts in a session now, with the role of now; NotAllowed where it is over."""
        with self._context.store.read() as connection:
            return self._acting_in(connection, session_id)

    @shared_for(_ROLE_SHOWN_FOR, until_write=True)
    def role_shown(self, session_id: UUID) -> Role:
        """Return the role of who looks at a page, which may be that of a second ago."""
        return self.actor(session_id).role

    def sessions(self) -> list[Session]:
        """Return all sessions that are not over, the last used first."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = sessions_not_ended(connection, now)
        return [each for each in found if not self._is_over(each, now)]

    def session_beginning(self, text: str) -> Session:
        """Return the one session whose id begins so; InputError where there is not just one."""
        known = self.sessions()
        found = [each for each in known if text and str(each.session_id).startswith(text.lower())]
        if not found:
            raise NotFound(f"{shorten(text)} begins no session: take its id from the list of them")
        if len(found) > 1:
            raise InputError(f"{shorten(text)} begins several sessions: give more of the id")
        return found[0]

    def end_session(self, session_id: UUID, by: Actor) -> None:
        """End anybody's session."""
        with self._context.store.write() as connection:
            found = _stored_session(connection, session_id)
            details = {"device": found.device}
            note_action(connection, by, Action.END_SESSION, found.person.name, details)
            end_session(connection, session_id, by.at)

    def end_own_session(self, own: UUID, ended: UUID) -> None:
        """End a session of the person who acts in the session `own`, which may be the same."""
        with self._context.store.write() as connection:
            by = self._acting_in(connection, own)
            person, found = _stored_session(connection, own), _stored_session(connection, ended)
            if person.person.person_id != found.person.person_id:
                raise NotFound("no such device is signed in")
            details = {"device": found.device}
            note_action(connection, by, Action.SIGN_OUT, found.person.name, details)
            end_session(connection, ended, by.at)

    def _note_use(self, used: Sequence[Session], now: datetime) -> None:
        due = {each.session_id for each in used if now - each.last_used_at >= _NOTED_EVERY}
        if due:
            with self._context.store.write() as connection:
                note_session_use(connection, due, now)

    def _acting_in(self, connection: Connection, session_id: UUID) -> Actor:
        now = self._context.now()
        found = find_session(connection, session_id)
        if found is None or self._is_over(found, now):
            raise NotAllowed("you are signed out: reload this page and sign in again")
        return _acting(found.person, now, Device(found.device, found.address))

    def _is_over(self, session: Session, now: datetime) -> bool:
        return self._policy is None or session.is_over(now, self._policy.idle)

    def _begin(
        self,
        connection: Connection,
        person: Person,
        device: Device,
        by: Actor,
        sid: str | None = None,
    ) -> NewSession:
        if self._policy is None:
            raise InputError("nobody signs in here: set accounts in [sign_in]")
        secret = Secret(secrets.token_urlsafe(_SECRET_BYTES))
        begun = Session(
            uuid4(),
            person,
            device.name,
            device.address,
            by.at,
            by.at,
            by.at + self._policy.longest,
        )
        save_session(connection, begun, digest(secret.reveal()), sid)
        note_action(connection, by, Action.SIGN_IN, person.name, {"device": device.name})
        return NewSession(begun, secret)

    def _give_role(self, connection: Connection, person: Person, role: Role) -> None:
        if role is not Role.ADMIN:
            _refuse_last_admin(connection, person)
        change_role(connection, person, role)

    def _is_right(self, person: Person | None, password: Secret, name: str, address: str) -> bool:
        """Whether the password is that of a person; takes as long where there is none."""
        with self._counting:
            self._throttle.attempt(name, address, self._context.now())
        stored = None if person is None else person.password_hash
        try:
            self._hasher.verify(stored or self._hash_of_nobody, password.reveal())
        except VerificationError:
            return False
        if stored is not None:
            with self._counting:
                self._throttle.succeeded(name, address)
        return stored is not None

    def _hash(self, password: Secret) -> str:
        return self._hasher.hash(password.reveal())

    @cached_property
    def _hash_of_nobody(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe(_SECRET_BYTES))

    def _rehash(self, connection: Connection, person: Person, password: Secret) -> None:
        """Hash a password anew if it was hashed with less effort than is usual now."""
        if person.password_hash and self._hasher.check_needs_rehash(person.password_hash):
            save_password(connection, person, self._hash(password))


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


def _stored_session(connection: Connection, session_id: UUID) -> Session:
    found = find_session(connection, session_id)
    if found is None:
        raise NotFound("no such device is signed in")
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


def _acting(person: Person, at: datetime, device: Device) -> Actor:
    return Actor(person.name, at, person.role, device.address)
