"""People who sign in, their invitations, and their sessions."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    exists,
    func,
    select,
    update,
)

from dashboard.domain.people.access import Role
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import invitations, passkeys, people, sessions, sign_in_steps
from dashboard.store.schema.columns import columns_of, read_as


class Person(Struct, frozen=True):
    """Somebody who may sign in: with a password, once an invitation is accepted, or by an issuer.

    `issuer` is the identifier of the issuer that vouches for them, None for accounts of our own;
    `subject` is what the issuer calls them. `has_app`: their password needs a code of an
    authenticator app as well. `is_disabled`: they cannot sign in until they are enabled again.
    """

    person_id: int
    name: str
    role: Role
    password_hash: str | None
    created_at: datetime
    issuer: str | None = None
    has_app: bool = False
    passkeys: int = 0
    is_disabled: bool = False
    subject: str | None = None

    @property
    def factors(self) -> list[str]:
        """What they sign in with besides the password, one word for each."""
        return ["app"] * self.has_app + ["passkey"] * self.passkeys

    @property
    def can_sign_in(self) -> bool:
        """Whether they have accepted their invitation and are not disabled."""
        has_way = self.password_hash is not None or self.issuer is not None
        return has_way and not self.is_disabled


class Session(Struct, frozen=True):
    """One sign-in of a person on a device, which `device` and `address` describe; both foreign.

    `ends_at`: the absolute end of the session, or when it was ended. `confirmed_at`: when the
    person last proved in it who they are; `second_factor`: whether with more than a password.
    `label` is the name that they gave it.
    """

    session_id: UUID
    person: Person
    device: str
    address: str
    created_at: datetime
    last_used_at: datetime
    ends_at: datetime
    confirmed_at: datetime
    label: str = ""
    second_factor: bool = False

    def is_over(self, now: datetime, idle: timedelta) -> bool:
        """Whether the session is no longer accepted: ended, expired, or idle for too long."""
        return self.ends_at <= now or self.last_used_at + idle <= now


def all_people(connection: Connection) -> list[Person]:
    """Return everybody who may sign in, by name."""
    query = _PEOPLE.order_by(people.c.name)
    return [_person(row) for row in connection.execute(query)]


def find_person(connection: Connection, name: str) -> Person | None:
    """Return the person with this name, unless they were removed."""
    return _found(connection, people.c.name == name)


def find_person_by_id(connection: Connection, person_id: int) -> Person | None:
    """Return the person with this id, unless they were removed."""
    return _found(connection, people.c.person_id == person_id)


def add_person(connection: Connection, name: str, role: Role, at: datetime) -> bool:
    """Store a person who is to be invited; False if the name is taken."""
    return insert_new(connection, people, {"name": name, "role": role.value, "created_at": at})


def find_subject(connection: Connection, issuer: str, subject: str) -> Person | None:
    """Return the person whom an issuer knows by this subject, unless they were removed."""
    return _found(connection, people.c.issuer == issuer, people.c.subject == subject)


def add_subject(
    connection: Connection, issuer: str, subject: str, name: str, role: Role, at: datetime
) -> bool:
    """Store a person whom an issuer vouches for; False if the name or the subject is taken."""
    row = {"name": name, "role": role.value, "issuer": issuer, "subject": subject}
    return insert_new(connection, people, {**row, "created_at": at})


def change_role(connection: Connection, person: Person, role: Role) -> None:
    """Give a person another role, which every session of theirs has from its next request on."""
    connection.execute(_this(person).values(role=role.value))


def disable_person(connection: Connection, person: Person, at: datetime | None) -> None:
    """Disable a person and end all their sessions and invitations; None enables them again."""
    connection.execute(_this(person).values(disabled_at=at))
    if at is not None:
        drop_invitation(connection, person)
        drop_steps(connection, person)
        end_sessions_of(connection, person, at)


def save_password(connection: Connection, person: Person, password_hash: str) -> None:
    """Store the hash of a person's password, which replaces the one before."""
    connection.execute(_this(person).values(password_hash=password_hash))
    drop_steps(connection, person)


def drop_steps(connection: Connection, person: Person) -> None:
    """Delete the sign-ins of a person that wait for their second half."""
    theirs = sign_in_steps.c.person_id == person.person_id
    connection.execute(delete(sign_in_steps).where(theirs))


def remove_person(connection: Connection, person: Person, at: datetime) -> None:
    """Remove a person for good and end their sessions and invitations; the name is free again."""
    connection.execute(_this(person).values(removed_at=at, password_hash=None))
    drop_invitation(connection, person)
    drop_steps(connection, person)
    end_sessions_of(connection, person, at)


def drop_invitation(connection: Connection, person: Person) -> None:
    connection.execute(delete(invitations).where(invitations.c.person_id == person.person_id))


def save_invitation(
    connection: Connection, person: Person, token_digest: bytes, ends_at: datetime
) -> None:
    """Store the invitation of a person, which replaces any before."""
    drop_invitation(connection, person)
    row = {"token_digest": token_digest, "person_id": person.person_id, "ends_at": ends_at}
    connection.execute(invitations.insert().values(**row))


def invited_person(connection: Connection, token_digest: bytes, now: datetime) -> Person | None:
    """Return the person whom an invitation is for, if it is still valid."""
    valid = select(invitations.c.person_id).where(
        invitations.c.token_digest == token_digest, invitations.c.ends_at > now
    )
    return _found(connection, people.c.person_id.in_(valid))


def invitation_ends(connection: Connection) -> dict[int, datetime]:
    """Return when the invitation of each person expires; some have expired already."""
    query = select(invitations.c.person_id, invitations.c.ends_at)
    return {row.person_id: row.ends_at for row in connection.execute(query)}


def last_uses(connection: Connection) -> dict[int, datetime]:
    """Return when each person was last here, if they ever signed in."""
    person_id, at = sessions.c.person_id, func.max(sessions.c.last_used_at)
    query = select(person_id, at.label("at")).group_by(person_id)
    return {row.person_id: row.at for row in connection.execute(query)}


def save_session(
    connection: Connection, session: Session, secret_digest: bytes, sid: str | None = None
) -> None:
    """Store a new session, and delete everybody's sessions that ended long ago.

    The last session of each person stays, since it says when they were last here. `sid` is the
    issuer's name for the session that it belongs to.
    """
    _forget_sessions(connection, session.created_at - _ENDED_STAY_FOR)
    whose = {"person_id": session.person.person_id, "secret_digest": secret_digest}
    row = columns_of(sessions, session, **whose, sid=sid)
    connection.execute(sessions.insert().values(**row))


_ENDED_STAY_FOR = timedelta(days=30)


def _forget_sessions(connection: Connection, before: datetime) -> None:
    later = sessions.alias()
    is_last = ~exists().where(
        later.c.person_id == sessions.c.person_id, later.c.last_used_at > sessions.c.last_used_at
    )
    removed = select(people.c.person_id).where(people.c.removed_at.is_not(None))
    stays = and_(is_last, sessions.c.person_id.not_in(removed))
    connection.execute(delete(sessions).where(sessions.c.ends_at < before, ~stays))


def session_of_secret(connection: Connection, secret_digest: bytes) -> Session | None:
    """Return the session whose cookie has this secret, even if it is over."""
    return _one(connection, _WITH_PEOPLE.where(sessions.c.secret_digest == secret_digest))


def find_session(connection: Connection, session_id: UUID) -> Session | None:
    """Return a session, even if it is over."""
    return _one(connection, _WITH_PEOPLE.where(sessions.c.session_id == session_id))


def sessions_not_ended(connection: Connection, now: datetime) -> list[Session]:
    """Return the sessions that were not ended, the last used first; some may be idle too long."""
    query = _WITH_PEOPLE.where(sessions.c.ends_at > now)
    rows = connection.execute(query.order_by(sessions.c.last_used_at.desc()))
    return [_session(row) for row in rows]


def sessions_among(connection: Connection, session_ids: Collection[UUID]) -> list[Session]:
    rows = connection.execute(_WITH_PEOPLE.where(sessions.c.session_id.in_(session_ids)))
    return [_session(row) for row in rows]


def note_session_use(connection: Connection, session_ids: Collection[UUID], at: datetime) -> None:
    these = sessions.c.session_id.in_(session_ids)
    connection.execute(update(sessions).where(these).values(last_used_at=at))


def confirm_session(connection: Connection, session_id: UUID, at: datetime) -> None:
    """Record that the person of a session proved again who they are."""
    this = sessions.c.session_id == session_id
    connection.execute(update(sessions).where(this).values(confirmed_at=at))


def note_second_factor(connection: Connection, session_id: UUID) -> None:
    this = sessions.c.session_id == session_id
    connection.execute(update(sessions).where(this).values(second_factor=True))


def label_session(connection: Connection, session_id: UUID, label: str) -> None:
    """Name a session; an empty name removes its label."""
    this = sessions.c.session_id == session_id
    connection.execute(update(sessions).where(this).values(label=label))


def end_session(connection: Connection, session_id: UUID, at: datetime) -> None:
    """End a session now, unless it ended before."""
    _end(connection, at, sessions.c.session_id == session_id)


def end_sessions_of(
    connection: Connection, person: Person, at: datetime, but: UUID | None = None
) -> int:
    """End every session of a person except one; return how many ended."""
    theirs = sessions.c.person_id == person.person_id
    return _end(connection, at, theirs, sessions.c.session_id != but)


def end_all_sessions(connection: Connection, at: datetime) -> None:
    """End every session: a session of a backup may have been ended after the backup was made."""
    _end(connection, at)


def end_sessions_at(
    connection: Connection, issuer: str, subject: str | None, sid: str | None, at: datetime
) -> None:
    """End the sessions that an issuer says are over: those of a subject, of one `sid`, or both."""
    theirs = select(people.c.person_id).where(people.c.issuer == issuer)
    if subject is not None:
        theirs = theirs.where(people.c.subject == subject)
    these = [] if sid is None else [sessions.c.sid == sid]
    _end(connection, at, sessions.c.person_id.in_(theirs), *these)


_PASSKEYS = select(func.count()).where(passkeys.c.person_id == people.c.person_id).label("passkeys")
_PEOPLE: Select[Any] = select(people, _PASSKEYS).where(people.c.removed_at.is_(None))
_WITH_PEOPLE: Select[Any] = select(
    sessions,
    people.c.name,
    people.c.role,
    people.c.password_hash,
    people.c.issuer,
    people.c.subject,
    people.c.created_at.label("met"),
    people.c.totp_key,
    people.c.disabled_at,
    _PASSKEYS,
).join(
    people,
    and_(
        people.c.person_id == sessions.c.person_id,
        people.c.removed_at.is_(None),
        people.c.disabled_at.is_(None),
    ),
)


def _found(connection: Connection, *those: ColumnElement[bool]) -> Person | None:
    row = connection.execute(_PEOPLE.where(*those)).one_or_none()
    return None if row is None else _person(row)


def _one(connection: Connection, query: Select[Any]) -> Session | None:
    row = connection.execute(query).one_or_none()
    return None if row is None else _session(row)


def _session(row: Row[Any]) -> Session:
    person = _person(row, row.met)
    return read_as(Session, row, sessions, person=person, label=row.label or "")


def _person(row: Row[Any], created_at: datetime | None = None) -> Person:
    return read_as(
        Person,
        row,
        people,
        person_id=row.person_id,
        created_at=created_at or row.created_at,
        has_app=row.totp_key is not None,
        passkeys=row.passkeys,
        is_disabled=row.disabled_at is not None,
    )


def _this(person: Person) -> Any:  # noqa: ANN401 - an update, as SQLAlchemy types it
    return update(people).where(people.c.person_id == person.person_id)


def _end(connection: Connection, at: datetime, *those: ColumnElement[bool]) -> int:
    ended = update(sessions).where(sessions.c.ends_at > at, *those)
    return connection.execute(ended.values(ends_at=at)).rowcount
