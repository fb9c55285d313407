"""Answers to requests with an Idempotency-Key, kept for a day."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import delete, select

from dashboard.store.access.tokens import Token
from dashboard.store.engine.connection import Connection
from dashboard.store.schema import api_replies
from dashboard.store.schema.columns import columns_of, read_as

_STAY_FOR: Final = timedelta(hours=24)
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
        api_replies.c.at > now - _STAY_FOR,
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else read_as(SavedReply, row, api_replies)


def save_reply(
    connection: Connection, token: Token, request_key: str, reply: SavedReply, at: datetime
) -> None:
    """Store an answer in the transaction that it answers, and delete answers older than a day."""
    connection.execute(delete(api_replies).where(api_replies.c.at <= at - _STAY_FOR))
    place = {"token_id": token.token_id, "request_key": request_key}
    row = columns_of(api_replies, reply, **place, at=at)
    connection.execute(api_replies.insert().values(**row))
