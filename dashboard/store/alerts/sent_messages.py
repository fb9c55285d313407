"""To whom a message went that somebody quotes by its Message-ID."""

from __future__ import annotations

from sqlalchemy import Connection, select

from dashboard.domain.notification import Recipient
from dashboard.store.alerts.recipients import recipient_of_verification
from dashboard.store.schema import notifications


def recipient_of_message(connection: Connection, message_id: str) -> Recipient | None:
    """Return to whom a message was sent, or tried to be; None for one that never was."""
    column = notifications.c
    query = select(column.channel, column.address).where(
        column.message_id == message_id, column.attempts > 0
    )
    row = connection.execute(query).first()
    if row is None:
        return recipient_of_verification(connection, message_id)
    return Recipient(row.channel, row.address)
