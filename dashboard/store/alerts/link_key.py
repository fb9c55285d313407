"""The key of an installation, made once: it signs links in messages, and hides Message-IDs."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, select, update

from dashboard.domain.signed_link import KEY_LENGTH
from dashboard.store.schema import installation


def link_key(connection: Connection) -> bytes | None:
    """Return the key, None before the first one was made."""
    found: bytes | None = connection.scalar(select(installation.c.link_key))
    return found


def renew_link_key(connection: Connection, new: bytes) -> None:
    """Let another key sign from now on: what was signed with the one before is forged then."""
    connection.execute(update(installation).values(link_key=new))


def make_link_key(connection: Connection, new: bytes) -> bytes:
    """Keep `new` as the key unless there is one; return the key that is kept.

    A backup holds it, so that links keep their meaning after a restore.
    """
    first = update(installation).where(installation.c.link_key.is_(None))
    connection.execute(first.values(link_key=new))
    kept = link_key(connection)
    assert kept is not None  # noqa: S101 - a store has exactly one row of its installation
    return kept


def ensure_link_key(connection: Connection) -> bytes:
    """Return the key, made now where none could be kept before."""
    return link_key(connection) or make_link_key(connection, secrets.token_bytes(KEY_LENGTH))
