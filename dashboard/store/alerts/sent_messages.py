"""To whom a message went that somebody quotes by its Message-ID."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from dashboard.domain.notification import Recipient
from dashboard.store.alerts.recipients import recipient_of_verification
from dashboard.store.schema import notifications


@dataclass(frozen=True, slots=True)
class SentMessage:
    """To whom a message was sent, or tried to be.

    Others can compute the Message-ID of one that `is_guessable`: release 0.1.0 sent it, with the
    id of its notification.
    """

    recipient: Recipient
    is_guessable: bool = False


def sent_message(connection: Connection, message_id: str) -> SentMessage | None:
    """Return what is known of a message; None for one that was never tried to be sent."""
    column = notifications.c
    query = select(column.notification_id, column.channel, column.address).where(
        column.message_id == message_id, column.attempts > 0
    )
    row = connection.execute(query).first()
    if row is None:
        recipient = recipient_of_verification(connection, message_id)
        return None if recipient is None else SentMessage(recipient)
    is_guessable = message_id.startswith(f"<{row.notification_id}@")
    return SentMessage(Recipient(row.channel, row.address), is_guessable)
