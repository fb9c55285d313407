"""The outbox: transitions become notifications, and notifications are claimed, sent and marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    update,
)

from dashboard.domain.condition import Transition
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.notification import (
    Delivery,
    DeliveryResult,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.store.alerts.held_notifications import is_uncertain, restored_at
from dashboard.store.alerts.notification_rows import (
    message_id_of,
    notification_id_of,
    notification_of,
    select_notifications,
    select_transitions,
    transition_and_rejection,
)
from dashboard.store.engine.leases import live_tokens
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import deliveries, notifications, outbox, transitions
from dashboard.store.schema.columns import ForeignText, Moment

# Written out, so that the planner sees that the partial index fits.
IS_PENDING: Final = notifications.c.state == literal_column("'pending'")


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A transition that nobody was told of yet, with the rejection behind it.

    `is_held`: it is of a time of which a restored store does not know who was told of what.
    """

    transition: Transition
    rejection: StoredRejection | None
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What to claim for a recipient: at most `limit` notifications, and none of `besides`."""

    recipient: Recipient
    limit: int
    besides: Sequence[UUID] = ()


def pending_expansion(connection: Connection, limit: int) -> list[OutboxEntry]:
    """Return what was not turned into notifications yet, oldest first."""
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
    """Make one notification for each recipient; return how many are new, none the second time.

    A notification's id and Message-ID follow from transition and recipient, so even a store that
    was set back to a backup repeats them. What is held is not sent before somebody releases it.
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


def pending_recipients(connection: Connection) -> list[Recipient]:
    """Return every recipient with a pending notification, claimed or not."""
    query = select(notifications.c.channel, notifications.c.address).where(IS_PENDING).distinct()
    return [Recipient(*row) for row in connection.execute(query)]


def claim(
    connection: Connection, holder_token: int, wanted: Sequence[ClaimRequest], now: datetime
) -> list[Notification]:
    """Take notifications to each of these recipients that no holder of a living lease has taken.

    Those tried least come first, then the oldest; of one incident always the earliest that is
    pending, and no other before that is marked. Nothing for a token whose own lease is void. What
    was taken stays taken until it is marked or freed, or until the lease ends. Commit before
    sending.
    """
    alive = live_tokens(connection)
    if holder_token not in alive:
        return []
    ids = [each for wish in wanted for each in connection.scalars(_claimable(wish, alive))]
    if not ids:
        return []
    taken = update(notifications).where(notifications.c.notification_id.in_(ids))
    connection.execute(taken.values(claimed_by=holder_token, claimed_at=now))
    rows = connection.execute(
        select_notifications().where(notifications.c.notification_id.in_(ids))
    ).mappings()
    found = {each.notification_id: each for each in map(notification_of, rows)}
    return [found[each] for each in ids]


def mark_sent(connection: Connection, notification_id: UUID, answer: str, at: datetime) -> None:
    """Note that the channel took a notification, under whatever claim: what is sent is sent."""
    sent = {
        "state": NotificationState.SENT,
        "sent_at": func.coalesce(notifications.c.sent_at, literal(at, Moment)),
    }
    of_notification = notifications.c.notification_id == notification_id
    _finish(connection, of_notification, (DeliveryResult.SENT, answer), sent)


def reschedule(
    connection: Connection, notification: Notification, error: str, next_attempt_at: datetime
) -> bool:
    """Keep a notification pending; False where the claim was lost meanwhile.

    `next_attempt_at` is for people: who claims waits by a clock that nobody sets.
    """
    later = {"next_attempt_at": next_attempt_at}
    return _finish(
        connection, _is_claimed_as(notification), (DeliveryResult.DEFERRED, error), later
    )


def release_claims(connection: Connection, holder_token: int, recipient: Recipient) -> None:
    """Free what is claimed under this token for a recipient, untried."""
    mine = update(notifications).where(
        IS_PENDING, _is_to(recipient), notifications.c.claimed_by == holder_token
    )
    connection.execute(mine.values(claimed_by=None))


def mark_dead(connection: Connection, notification: Notification, error: str, at: datetime) -> bool:
    """Give a notification up as a dead message, which is kept; False where the claim was lost."""
    dead = {"state": NotificationState.DEAD, "next_attempt_at": at}
    return _finish(connection, _is_claimed_as(notification), (DeliveryResult.REFUSED, error), dead)


def recent_notifications(connection: Connection, limit: int) -> list[Notification]:
    """Return the latest notifications of any state, the latest first."""
    query = (
        select_notifications()
        .order_by(notifications.c.created_at.desc(), notifications.c.notification_id)
        .limit(limit)
    )
    return [notification_of(row) for row in connection.execute(query).mappings()]


def deliveries_of(connection: Connection, notification_id: UUID) -> list[Delivery]:
    """Return every finished attempt to hand a notification over, oldest first."""
    return deliveries_by_notification(connection, [notification_id])[notification_id]


def deliveries_by_notification(
    connection: Connection, notification_ids: Sequence[UUID]
) -> dict[UUID, list[Delivery]]:
    """Return the same of each of these notifications."""
    found: dict[UUID, list[Delivery]] = {each: [] for each in notification_ids}
    query = (
        select(deliveries)
        .where(deliveries.c.notification_id.in_(notification_ids))
        .order_by(deliveries.c.delivery_id)
    )
    for row in connection.execute(query):
        attempt = Delivery(row.attempted_at, DeliveryResult(row.result), row.outcome)
        found[row.notification_id].append(attempt)
    return found


def _claimable(wanted: ClaimRequest, alive: Sequence[int]) -> Select[Any]:
    """Select what may be claimed, in its order."""
    besides = [notifications.c.notification_id.not_in(wanted.besides)] if wanted.besides else []
    return (
        select(notifications.c.notification_id)
        .join(transitions, transitions.c.transition_id == notifications.c.transition_id)
        .join(outbox, outbox.c.transition_id == notifications.c.transition_id)
        .where(IS_PENDING, _is_to(wanted.recipient))
        .where(or_(notifications.c.claimed_by.is_(None), notifications.c.claimed_by.not_in(alive)))
        .where(~_has_an_earlier_one(), *besides)
        .order_by(notifications.c.attempts, notifications.c.created_at, outbox.c.outbox_id)
        .limit(wanted.limit)
        .with_for_update(skip_locked=True, of=notifications)
    )


def _has_an_earlier_one() -> ColumnElement[bool]:
    """Whether one of an earlier event of the same incident is pending for the same recipient."""
    earlier, cause, entry = notifications.alias(), transitions.alias(), outbox.alias()
    return exists().where(
        cause.c.incident_id == transitions.c.incident_id,
        entry.c.transition_id == cause.c.transition_id,
        entry.c.outbox_id < outbox.c.outbox_id,
        earlier.c.transition_id == cause.c.transition_id,
        earlier.c.channel == notifications.c.channel,
        earlier.c.address == notifications.c.address,
        earlier.c.state == NotificationState.PENDING,
    )


def _is_to(recipient: Recipient) -> ColumnElement[bool]:
    column = notifications.c
    return and_(column.channel == recipient.channel, column.address == recipient.address)


def _is_claimed_as(notification: Notification) -> ColumnElement[bool]:
    return and_(
        notifications.c.notification_id == notification.notification_id,
        notifications.c.claimed_by == notification.claimed_by,
        IS_PENDING,
    )


def _finish(
    connection: Connection,
    which: ColumnElement[bool],
    attempt: tuple[DeliveryResult, str],
    changed: dict[str, Any],
) -> bool:
    """Write an attempt down, with its result and outcome, and free the claim."""
    result, outcome = attempt
    log = select(
        notifications.c.notification_id,
        func.coalesce(notifications.c.claimed_at, notifications.c.created_at),
        literal(result),
        literal(outcome, ForeignText),
    )
    columns = ["notification_id", "attempted_at", "result", "outcome"]
    attempted = insert(deliveries).from_select(columns, log.where(which))
    if connection.execute(attempted.returning(deliveries.c.delivery_id)).first() is None:
        return False
    freed = {"claimed_by": None, "outcome": outcome, "attempts": notifications.c.attempts + 1}
    connection.execute(update(notifications).where(which).values(**freed, **changed))
    return True


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
