"""Tokens of the management API, and what was answered to requests that may be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, delete, select, update

from dashboard.domain.people.access import Role
from dashboard.store.engine.connection import Connection
from dashboard.store.schema import api_replies, api_tokens

REPLIES_STAY_FOR = timedelta(hours=24)
"""How long a request with the same Idempotency-Key gets the same answer."""

_ENDED_STAY_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret. `subjects` are those that it opens; None is all of them.

    `ends_at` is when it expires, or when it was revoked.
    """

    token_id: int
    name: str
    role: Role
    subjects: frozenset[str] | None
    created_at: datetime
    created_by: str
    ends_at: datetime
    last_used_at: datetime | None = None

    def opens(self, subject: str) -> bool:
        """Whether requests about a subject may be made with it."""
        return self.subjects is None or subject in self.subjects


@dataclass(frozen=True, slots=True)
class SavedReply:
    """The answer to a request; `request_digest` is that of what was asked for."""

    request_digest: bytes
    status: int
    body: str


def add_token(connection: Connection, token: Token, token_digest: bytes) -> None:
    """Store a token, which gets an id of its own; those that ended long ago are forgotten."""
    forgotten = api_tokens.c.ends_at < token.created_at - _ENDED_STAY_FOR
    ids = select(api_tokens.c.token_id).where(forgotten)
    connection.execute(delete(api_replies).where(api_replies.c.token_id.in_(ids)))
    connection.execute(delete(api_tokens).where(forgotten))
    row = {
        "token_digest": token_digest,
        "name": token.name,
        "role": token.role.value,
        "subjects": None if token.subjects is None else sorted(token.subjects),
        "created_at": token.created_at,
        "created_by": token.created_by,
        "ends_at": token.ends_at,
    }
    connection.execute(api_tokens.insert().values(**row))


def token_of_digest(connection: Connection, token_digest: bytes, now: datetime) -> Token | None:
    """Return the token that is valid now and has this digest."""
    query = select(api_tokens).where(api_tokens.c.token_digest == token_digest)
    row = connection.execute(query.where(api_tokens.c.ends_at > now)).one_or_none()
    return None if row is None else _token(row)


def valid_tokens(connection: Connection, now: datetime) -> list[Token]:
    """Return the tokens that are valid now, by name."""
    query = select(api_tokens).where(api_tokens.c.ends_at > now)
    return [_token(row) for row in connection.execute(query.order_by(api_tokens.c.name))]


def end_token(connection: Connection, token: Token, at: datetime) -> None:
    """Let a token be valid no more."""
    this = api_tokens.c.token_id == token.token_id
    connection.execute(update(api_tokens).where(this).values(ends_at=at))


def end_all_tokens(connection: Connection, at: datetime) -> None:
    """Let every token end now: one of a backup may have been revoked after it was made."""
    connection.execute(update(api_tokens).where(api_tokens.c.ends_at > at).values(ends_at=at))


def note_token_use(connection: Connection, token: Token, at: datetime) -> None:
    """Note that a token is used now."""
    this = api_tokens.c.token_id == token.token_id
    connection.execute(update(api_tokens).where(this).values(last_used_at=at))


def saved_reply(
    connection: Connection, token: Token, request_key: str, now: datetime
) -> SavedReply | None:
    """Return what was answered to a request with this key within the last day."""
    query = select(api_replies).where(
        api_replies.c.token_id == token.token_id,
        api_replies.c.request_key == request_key,
        api_replies.c.at > now - REPLIES_STAY_FOR,
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else SavedReply(row.request_digest, row.status, row.body)


def save_reply(
    connection: Connection, token: Token, request_key: str, reply: SavedReply, at: datetime
) -> None:
    """Save an answer in the transaction of what it answers; those of yesterday are forgotten."""
    connection.execute(delete(api_replies).where(api_replies.c.at <= at - REPLIES_STAY_FOR))
    row = {
        "token_id": token.token_id,
        "request_key": request_key,
        "request_digest": reply.request_digest,
        "at": at,
        "status": reply.status,
        "body": reply.body,
    }
    connection.execute(api_replies.insert().values(**row))


def _token(row: Row[Any]) -> Token:
    return Token(
        row.token_id,
        row.name,
        Role(row.role),
        None if row.subjects is None else frozenset(row.subjects),
        row.created_at,
        row.created_by,
        row.ends_at,
        row.last_used_at,
    )
