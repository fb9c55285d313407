"""Sign-ins of people: attempts, and sessions from their beginning to their end."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import Final
from uuid import UUID, uuid4

from msgspec import Struct

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.domain.people.access import LONGEST_NAME, Action, Actor, Role, Way, digest
from dashboard.domain.people.sign_in import AttemptThrottle
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.people import (
    Person,
    Session,
    end_session,
    find_session,
    label_session,
    note_session_use,
    save_session,
    session_of_secret,
    sessions_among,
    sessions_not_ended,
)
from dashboard.store.engine.connection import Connection

SECRET_BYTES: Final = 32
PASSWORD: Final = "password"  # noqa: S105 - the word for one
"""The name in the audit log for a proof by password alone."""

_NOTED_EVERY: Final = timedelta(minutes=1)
"""How often the use of a session is stored."""

_ROLE_SHOWN_FOR: Final = timedelta(milliseconds=500)


class Device(Struct, frozen=True):
    """Where somebody signs in from; `name` is the browser's name for itself. Both are foreign."""

    name: str
    address: str


class NewSession(Struct, frozen=True):
    """A new session; only the browser keeps its secret."""

    session: Session
    secret: Secret


class Sessions(ApplicationSubject):
    def __init__(self, context: ApplicationContext) -> None:
        super().__init__(context)
        self.policy = context.settings.sign_in
        """How people sign in, and for how long; None if pages are open to all."""

        self._throttle = AttemptThrottle()
        self._counting = Lock()

    @property
    def must_sign_in(self) -> bool:
        """Whether pages are shown only to people who signed in."""
        return self.policy is not None

    def session(self, secret: Secret) -> Session | None:
        """Return the session of a cookie, None if it is over, and record its use."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = session_of_secret(connection, digest(secret.reveal()))
        if found is None or self._is_over(found, now):
            return None
        self._note_use([found], now)
        return found

    def valid_among(self, session_ids: Collection[UUID]) -> set[UUID]:
        """Return which of these sessions may open pages, and record their use."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = sessions_among(connection, session_ids)
        valid = [
            each for each in found if not (self._is_over(each, now) or self.lacks_factor(each))
        ]
        self._note_use(valid, now)
        return {each.session_id for each in valid}

    def actor(self, session_id: UUID) -> Actor:
        """Return who acts in a session, with their current role.

        NotAllowed if it is over, or lacks the second factor that the role requires.
        """
        with self._context.store.read() as connection:
            by, session = self.acting_in(connection, session_id)
        self.require_factor(session)
        return by

    def requires_factor(self, person: Person) -> bool:
        """Whether the role requires a second factor; issuers and proxies ask for their own."""
        required = () if self.policy is None else self.policy.second_factor
        return person.issuer is None and person.role in required

    def lacks_factor(self, session: Session) -> bool:
        """Whether the role requires a second factor that this session was begun without."""
        is_proven = session.second_factor and bool(session.person.factors)
        return self.requires_factor(session.person) and not is_proven

    def require_factor(self, session: Session) -> None:
        """Raise NotAllowed if a session lacks its second factor."""
        if self.lacks_factor(session):
            raise NotAllowed("your role requires a second factor: set one up on the page Account")

    @shared_for(_ROLE_SHOWN_FOR, until_write=True)
    def role_shown(self, session_id: UUID) -> Role:
        """Return the role of somebody who views a page, at most half a second old."""
        return self.actor(session_id).role

    def sessions(self) -> list[Session]:
        """Return all sessions that are not over, the last used first."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = sessions_not_ended(connection, now)
        return [each for each in found if not self._is_over(each, now)]

    def session_beginning(self, text: str) -> Session:
        """Return the session whose id begins like this; InputError if several do, or none."""
        known = self.sessions()
        found = [each for each in known if text and str(each.session_id).startswith(text.lower())]
        if not found:
            raise NotFound(f"{shorten(text)} names no session: take its id from the list of them")
        if len(found) > 1:
            raise InputError(f"{shorten(text)} names several sessions: give more of the id")
        return found[0]

    def end_session(self, session_id: UUID, by: Actor) -> None:
        with self._context.store.write() as connection:
            found = _stored_session(connection, session_id)
            details = {"device": found.device}
            note_action(connection, by, Action.END_SESSION, found.person.name, details)
            end_session(connection, session_id, by.at)

    def end_own_session(self, own: UUID, ended: UUID) -> None:
        """End a session of the person who acts in the session `own`, which may be the same."""
        with self._context.store.write() as connection:
            by, found = self._own(connection, own, ended)
            details = {"device": found.device}
            note_action(connection, by, Action.SIGN_OUT, found.person.name, details)
            end_session(connection, ended, by.at)

    def name_own_session(self, own: UUID, named: UUID, label: str) -> None:
        """Label a session of the person who acts in `own`; an empty label removes it."""
        label = " ".join(label.split())
        if len(label) > LONGEST_NAME:
            raise InputError(f"the name of a device has at most {LONGEST_NAME} characters")
        with self._context.store.write() as connection:
            by, found = self._own(connection, own, named)
            details = {"device": found.device, "name": label}
            note_action(connection, by, Action.NAME_SESSION, found.person.name, details)
            label_session(connection, named, label)

    @contextmanager
    def throttle(self) -> Iterator[AttemptThrottle]:
        """Yield the throttle to one thread at a time."""
        with self._counting:
            yield self._throttle

    def acting_in(self, connection: Connection, session_id: UUID) -> tuple[Actor, Session]:
        """Return who acts in a session, and the session; NotAllowed if it is over."""
        now = self._context.now()
        found = find_session(connection, session_id)
        if found is None or self._is_over(found, now):
            raise NotAllowed("you are signed out: reload this page and sign in again")
        return acting(found.person, now, Device(found.device, found.address)), found

    def begin(
        self,
        connection: Connection,
        person: Person,
        device: Device,
        proof: str,
        sid: str | None = None,
    ) -> NewSession:
        """Begin a session for somebody who proved who they are; `proof` says how.

        NotAllowed for a disabled person. `sid` is the issuer's own session that this one belongs
        to.
        """
        policy, now = self.policy, self._context.now()
        if policy is None or not (policy.accounts or person.issuer):
            raise InputError("nobody signs in here with a password: set accounts in [sign_in]")
        if person.is_disabled:
            raise NotAllowed("your account is disabled: ask an admin")
        secret = Secret(secrets.token_urlsafe(SECRET_BYTES))
        ends_at = now + policy.longest
        begun = Session(
            uuid4(),
            person,
            device.name,
            device.address,
            now,
            now,
            ends_at,
            confirmed_at=now,
            second_factor=proof != PASSWORD,
        )
        save_session(connection, begun, digest(secret.reveal()), sid)
        details = {"device": device.name, "with": proof}
        note_action(connection, acting(person, now, device), Action.SIGN_IN, person.name, details)
        return NewSession(begun, secret)

    def _own(self, connection: Connection, own: UUID, other: UUID) -> tuple[Actor, Session]:
        """Return who acts in a session, and a session of the same person."""
        by, session = self.acting_in(connection, own)
        if own != other:
            self.require_factor(session)
        found = _stored_session(connection, other)
        if session.person.person_id != found.person.person_id:
            raise NotFound("no such device is signed in")
        return by, found

    def _note_use(self, used: Sequence[Session], now: datetime) -> None:
        due = {each.session_id for each in used if now - each.last_used_at >= _NOTED_EVERY}
        if due:
            with self._context.store.write() as connection:
                note_session_use(connection, due, now)

    def _is_over(self, session: Session, now: datetime) -> bool:
        """Whether a session has ended, or its person could not sign in this way now."""
        policy = self.policy
        if policy is None or not policy.lets_in(session.person.issuer):
            return True
        return session.is_over(now, policy.idle)


def _stored_session(connection: Connection, session_id: UUID) -> Session:
    found = find_session(connection, session_id)
    if found is None:
        raise NotFound("no such device is signed in")
    return found


def acting(person: Person, at: datetime, device: Device) -> Actor:
    return Actor(person.name, at, person.role, device.address, way=Way.PAGE)
