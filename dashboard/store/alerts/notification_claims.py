"""Claims on notifications, which fence deliveries: a worker that lost its claim records no attempt.

A worker closes what is due, claims it under the fencing token of its lease, sends it, and then
marks each as sent, tried or dead. Once its lease is over, another worker may claim the same ones,
and the first can mark them no longer, except as sent: what was sent is sent. A worker that keeps
its lease may claim again what it claimed and does not hold in memory any more.
"""

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
    or_,
    select,
    update,
)

from dashboard.domain.alerts.hourly_cap import Closing
from dashboard.domain.alerts.notification import (
    DeliveryResult,
    Notification,
    NotificationKind,
    NotificationState,
    Recipient,
)
from dashboard.store.alerts.closings import close, follows_a_pending_one, is_closed
from dashboard.store.alerts.notifications import (
    IS_PENDING,
    notification_of,
    select_notifications,
    with_incidents,
)
from dashboard.store.alerts.recipients import is_to, recipients_in
from dashboard.store.engine.leases import live_tokens
from dashboard.store.schema import (
    deliveries,
    incident_transitions,
    incidents,
    notification_members,
    notifications,
)
from dashboard.store.schema.columns import ForeignText, Moment

_TO_TRY_AT_ONCE: Final = (
    IS_PENDING,
    notifications.c.attempts > 0,
    notifications.c.next_attempt_at.is_(None),
)


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What to claim for a recipient: at most `limit` notifications, and none of `besides`.

    `besides` names what waits after a failure, and what this worker holds in memory already.
    `closings` are made first: a closed notification can be claimed.
    """

    recipient: Recipient
    limit: int
    besides: Sequence[UUID] = ()
    closings: Sequence[Closing] = ()


def pending_recipients(connection: Connection) -> list[Recipient]:
    """Return every recipient with a pending notification that is closed, claimed or not."""
    column = notifications.c
    closed = select(column.channel, column.address).where(IS_PENDING, column.closed_at.is_not(None))
    return recipients_in(connection, closed.distinct())


def claim(
    connection: Connection, holder_token: int, wanted: Sequence[ClaimRequest], now: datetime
) -> list[Notification]:
    """Claim notifications for each of these recipients that no other worker with a lease claimed.

    Those tried least come first, then those of the highest precedence, then the oldest; of one
    incident only the earliest that is pending. Nothing for a token whose own lease is over.
    A claim lasts until the notification is marked or the claim released, or until the lease ends.
    Commit before sending.
    """
    alive = live_tokens(connection)
    if holder_token not in alive:
        return []
    others = [token for token in alive if token != holder_token]
    ids: list[UUID] = []
    for request in wanted:
        close(connection, request.closings, holder_token, now)
        ids += connection.scalars(_claimable(request, others))
    if not ids:
        return []
    taken = update(notifications).where(notifications.c.notification_id.in_(ids))
    connection.execute(taken.values(claimed_by=holder_token, claimed_at=now))
    rows = connection.execute(
        select_notifications().where(notifications.c.notification_id.in_(ids))
    ).mappings()
    claimed = with_incidents(connection, [notification_of(row) for row in rows])
    by_id = {each.notification_id: each for each in claimed}
    return [by_id[each] for each in ids]


def mark_sent(connection: Connection, notification_id: UUID, answer: str, at: datetime) -> None:
    """Mark a notification as sent, also after its claim was lost: what is sent is sent."""
    sent = {
        "state": NotificationState.SENT,
        "sent_at": func.coalesce(notifications.c.sent_at, literal(at, Moment)),
    }
    of_notification = notifications.c.notification_id == notification_id
    _record_attempt(connection, of_notification, (DeliveryResult.SENT, answer), sent)


def reschedule(
    connection: Connection, notification: Notification, error: str, next_attempt_at: datetime
) -> bool:
    """Mark one as tried without success, still pending; False if the claim was lost.

    `next_attempt_at` is for people to see: a worker waits by a clock that nobody sets.
    """
    later = {"next_attempt_at": next_attempt_at}
    return _record_attempt(
        connection, _is_still_claimed(notification), (DeliveryResult.DEFERRED, error), later
    )


def note_first_attempt(connection: Connection, notification_id: UUID, at: datetime) -> None:
    """Note of the open incidents whose changes a notification reports when people heard of them."""
    column, pair, member = incidents.c, incident_transitions.c, notification_members.c
    about = (
        select(pair.incident_id)
        .join(notification_members, member.transition_id == pair.transition_id)
        .where(member.notification_id == notification_id)
    )
    untold = update(incidents).where(
        column.incident_id.in_(about), column.open_key.is_not(None), column.notified_at.is_(None)
    )
    connection.execute(untold.values(notified_at=at, version=column.version + 1))


def try_at_once(connection: Connection, channel: str) -> None:
    """Let what a channel did not take be tried at once: it takes messages again."""
    failed = update(notifications).where(
        IS_PENDING, notifications.c.channel == channel, notifications.c.attempts > 0
    )
    connection.execute(failed.values(next_attempt_at=None))


def to_try_at_once(connection: Connection) -> list[Recipient]:
    """Return to whom something failed that is to be tried at once."""
    column = notifications.c
    failed = select(column.channel, column.address).where(*_TO_TRY_AT_ONCE)
    return recipients_in(connection, failed.distinct())


def note_tries(connection: Connection, now: datetime) -> None:
    """Note that what is to be tried at once is taken up."""
    tried = update(notifications).where(*_TO_TRY_AT_ONCE)
    connection.execute(tried.values(next_attempt_at=now))


def release_claims(connection: Connection, holder_token: int, recipient: Recipient) -> None:
    """Release what is claimed under this token for a recipient and was not tried.

    What this worker closed itself, and nobody ever tried, is open again: no message was written
    yet. That holds for what it did not claim as well, which may answer what it did.
    """
    column = notifications.c
    mine = (IS_PENDING, is_to(recipient))
    claimed = column.claimed_by == holder_token
    connection.execute(update(notifications).where(*mine, claimed).values(claimed_by=None))
    is_fresh = (
        column.claimed_by.is_(None),
        column.closed_by == holder_token,
        column.attempts == 0,
    )
    open_again = {"closed_at": None, "closed_by": None, "in_reply_to": "", "thread": ""}
    connection.execute(update(notifications).where(*mine, *is_fresh).values(open_again))


def mark_dead(connection: Connection, notification: Notification, error: str, at: datetime) -> bool:
    """Mark a notification as dead, which keeps it on record; False if the claim was lost."""
    dead = {"state": NotificationState.DEAD, "next_attempt_at": at}
    return _record_attempt(
        connection, _is_still_claimed(notification), (DeliveryResult.REFUSED, error), dead
    )


def _claimable(request: ClaimRequest, others: Sequence[int]) -> Select[Any]:
    """Select what may be claimed, in its order."""
    besides = [notifications.c.notification_id.not_in(request.besides)] if request.besides else []
    return (
        select(notifications.c.notification_id)
        .where(IS_PENDING, is_to(request.recipient), notifications.c.closed_at.is_not(None))
        .where(or_(notifications.c.claimed_by.is_(None), notifications.c.claimed_by.not_in(others)))
        .where(~_has_an_earlier_one(), *besides)
        .order_by(
            *(notifications.c.attempts, notifications.c.precedence),
            *(notifications.c.created_at, notifications.c.position),
        )
        .limit(request.limit)
        .with_for_update(skip_locked=True, of=notifications)
    )


def _has_an_earlier_one() -> ColumnElement[bool]:
    """Whether an earlier one about the same incident, or the one it answers, is pending.

    What is said of an incident itself, and waits for its turn, delays no change. One that answers
    what comes after it, or what answers it, does not wait for that: both would wait for ever.
    """
    answered = notifications.alias()
    answers = exists().where(
        answered.c.message_id == notifications.c.in_reply_to,
        answered.c.state == NotificationState.PENDING,
        answered.c.position <= notifications.c.position,
        answered.c.in_reply_to != notifications.c.message_id,
    )
    follows = follows_a_pending_one(
        lambda earlier: or_(earlier.c.kind == NotificationKind.CHANGE, is_closed(earlier))
    )
    return or_(answers, follows)


def _is_still_claimed(notification: Notification) -> ColumnElement[bool]:
    """Demand that no other worker has claimed it since: this refuses one that lost its lease."""
    return and_(
        notifications.c.notification_id == notification.notification_id,
        notifications.c.claimed_by == notification.claimed_by,
        IS_PENDING,
    )


def _record_attempt(
    connection: Connection,
    which: ColumnElement[bool],
    attempt: tuple[DeliveryResult, str],
    changed: dict[str, Any],
) -> bool:
    """Write an attempt with its result, and release the claim; False if none fits `which`."""
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
