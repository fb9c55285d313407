"""To whom a message went that somebody quotes by its Message-ID."""

from __future__ import annotations

from sqlalchemy import Connection, select

from dashboard.domain.notification import Recipient
from dashboard.store.schema import notifications


def recipient_of_message(connection: Connection, message_id: str) -> Recipient | None:
    """Return to whom a message was sent, or tried to be; None for one that never was."""
    column = notifications.c
    query = select(column.channel, column.address).where(
        column.message_id == message_id, column.attempts > 0
    )
    row = connection.execute(query).first()
    return None if row is None else Recipient(row.channel, row.address)
