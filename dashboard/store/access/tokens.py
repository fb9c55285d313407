"""Tokens of the management API, without their secrets, and the answers to repeated requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Row, Select, and_, delete, or_, select, update

from dashboard.domain.people.access import Role
from dashboard.store.access.people import Person
from dashboard.store.engine.connection import Connection
from dashboard.store.schema import api_replies, api_tokens, people
from dashboard.store.schema.columns import columns_of, read_as

_ENDED_STAY_FOR = timedelta(days=30)


class Token(Struct, frozen=True):
    """A token, without its secret. `subjects` are those that it gives access to; None means all.

    `role` is never above the present role of its `person`; None if it belongs to nobody.
    `made_with` is the token that created it. `ends_at` is when it expires, or when it was revoked.
    """

    token_id: int
    name: str
    role: Role
    subjects: frozenset[str] | None
    created_at: datetime
    created_by: str
    ends_at: datetime
    last_used_at: datetime | None = None
    person: str | None = None
    made_with: int | None = None

    def opens(self, subject: str) -> bool:
        return self.subjects is None or subject in self.subjects


def add_token(
    connection: Connection, token: Token, token_digest: bytes, person: Person | None
) -> None:
    """Store a token, which gets an id, and delete those that ended long ago."""
    forgotten = api_tokens.c.ends_at < token.created_at - _ENDED_STAY_FOR
    ids = select(api_tokens.c.token_id).where(forgotten)
    connection.execute(delete(api_replies).where(api_replies.c.token_id.in_(ids)))
    connection.execute(delete(api_tokens).where(forgotten))
    row = columns_of(
        api_tokens,
        token,
        token_digest=token_digest,
        subjects=None if token.subjects is None else sorted(token.subjects),
        person_id=None if person is None else person.person_id,
    )
    connection.execute(api_tokens.insert().values(**row))


def token_of_digest(connection: Connection, token_digest: bytes, now: datetime) -> Token | None:
    """Return the token with this digest, if it is valid now."""
    row = connection.execute(_valid(now, api_tokens.c.token_digest == token_digest)).one_or_none()
    return None if row is None else _token(row)


def token_of_id(connection: Connection, token_id: int, at: datetime) -> Token | None:
    """Return a token if it is valid at this moment, or ends at it: a token may revoke itself."""
    query = _valid(at - timedelta.resolution, api_tokens.c.token_id == token_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _token(row)


def valid_tokens(connection: Connection, now: datetime) -> list[Token]:
    """Return the tokens that are valid now, by name."""
    return [_token(row) for row in connection.execute(_valid(now).order_by(api_tokens.c.name))]


def end_tokens(connection: Connection, ended: Sequence[Token], at: datetime) -> list[str]:
    """Revoke these tokens and all that were created with them; return the names of all."""
    known, all_ended = valid_tokens(connection, at), {each.token_id: each.name for each in ended}
    for each in sorted(known, key=lambda each: each.token_id):  # those who make come first
        if each.made_with in all_ended:
            all_ended[each.token_id] = each.name
    these = api_tokens.c.token_id.in_(all_ended)
    connection.execute(update(api_tokens).where(these).values(ends_at=at))
    return sorted(all_ended.values())


def end_tokens_of(connection: Connection, person: Person, at: datetime) -> list[str]:
    """Revoke every token of a person; return the names of those that were valid."""
    theirs = _valid(at, api_tokens.c.person_id == person.person_id)
    return end_tokens(connection, [_token(row) for row in connection.execute(theirs)], at)


def end_all_tokens(connection: Connection, at: datetime) -> None:
    """Revoke every token: one of a backup may have been revoked after the backup was made."""
    connection.execute(update(api_tokens).where(api_tokens.c.ends_at > at).values(ends_at=at))


def note_token_use(connection: Connection, token: Token, at: datetime) -> None:
    this = api_tokens.c.token_id == token.token_id
    connection.execute(update(api_tokens).where(this).values(last_used_at=at))


def _valid(now: datetime, *those: ColumnElement[bool]) -> Select[Any]:
    """Select the tokens that are valid now, without those of people disabled or removed."""
    person = people.c
    query = select(api_tokens, person.name.label("person"), person.role.label("person_role"))
    whose = and_(person.removed_at.is_(None), person.disabled_at.is_(None))
    return query.outerjoin(people, person.person_id == api_tokens.c.person_id).where(
        api_tokens.c.ends_at > now, or_(api_tokens.c.person_id.is_(None), whose), *those
    )


def _token(row: Row[Any]) -> Token:
    role = Role(row.role)
    return read_as(
        Token,
        row,
        api_tokens,
        role=role if row.person is None else role.at_most(Role(row.person_role)),
        subjects=None if row.subjects is None else frozenset(row.subjects),
        person=row.person,
    )


_REPLIES_STAY_FOR: Final = timedelta(hours=24)
"""How long a request with the same Idempotency-Key gets the same answer."""


class SavedReply(Struct, frozen=True):
    """The answer to a request; `request_digest` is that of what was asked for."""

    request_digest: bytes
    status: int
    body: str


def saved_reply(
    connection: Connection, token: Token, request_key: str, now: datetime
) -> SavedReply | None:
    """Return the answer to a request with this key from the last day."""
    query = select(api_replies).where(
        api_replies.c.token_id == token.token_id,
        api_replies.c.request_key == request_key,
        api_replies.c.at > now - _REPLIES_STAY_FOR,
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else read_as(SavedReply, row, api_replies)


def save_reply(
    connection: Connection, token: Token, request_key: str, reply: SavedReply, at: datetime
) -> None:
    """Store an answer in the transaction that it answers, and delete answers older than a day."""
    connection.execute(delete(api_replies).where(api_replies.c.at <= at - _REPLIES_STAY_FOR))
    place = {"token_id": token.token_id, "request_key": request_key}
    row = columns_of(api_replies, reply, **place, at=at)
    connection.execute(api_replies.insert().values(**row))
