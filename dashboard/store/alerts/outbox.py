"""The outbox: transitions that are not yet turned into a notification for each recipient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    update,
)

from dashboard.domain.condition import Transition
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.notification import (
    NotificationState,
    Recipient,
)
from dashboard.store.alerts.held_notifications import is_uncertain, restored_at
from dashboard.store.alerts.notifications import (
    message_id_of,
    notification_id_of,
    select_transitions,
    transition_and_rejection,
)
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import notifications, outbox, transitions


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A transition without notifications so far, with the rejection behind it.

    `is_held`: it is of a time of which a restored store does not know who was notified.
    """

    transition: Transition
    rejection: StoredRejection | None
    is_held: bool = False


def pending_expansion(connection: Connection, limit: int) -> list[OutboxEntry]:
    """Return the transitions without notifications so far, the oldest first."""
    query = (
        select_transitions()
        .join(outbox, outbox.c.transition_id == transitions.c.transition_id)
        .where(outbox.c.expanded_at.is_(None))
        .order_by(outbox.c.outbox_id)
        .limit(limit)
    )
    causes = [transition_and_rejection(row) for row in connection.execute(query).mappings()]
    last_restored = restored_at(connection) if causes else None
    return [OutboxEntry(*cause, is_uncertain(*cause, last_restored)) for cause in causes]


def expand(
    connection: Connection, entry: OutboxEntry, recipients: Sequence[Recipient], now: datetime
) -> int:
    """Insert one notification for each recipient; return how many are new, none the second time.

    A notification's id and Message-ID follow from transition and recipient, so a store that was
    restored from a backup repeats them. One that is held is not sent before a person releases it.
    """
    transition_id = entry.transition.transition_id
    mine = outbox.c.transition_id == transition_id
    first = update(outbox).where(mine, outbox.c.expanded_at.is_(None)).values(expanded_at=now)
    if connection.execute(first).rowcount == 0:
        return 0
    return sum(
        insert_new(connection, notifications, _new_notification(entry, recipient, now))
        for recipient in recipients
    )


def _new_notification(entry: OutboxEntry, recipient: Recipient, now: datetime) -> dict[str, Any]:
    transition_id = entry.transition.transition_id
    notification_id = notification_id_of(transition_id, recipient)
    return {
        "notification_id": notification_id,
        "transition_id": transition_id,
        "channel": recipient.channel,
        "address": recipient.address,
        "message_id": message_id_of(notification_id),
        "created_at": now,
        "state": NotificationState.HELD if entry.is_held else NotificationState.PENDING,
        "attempts": 0,
        "next_attempt_at": now,
        "outcome": "",
    }
