"""Claims on notifications, which fence deliveries: a worker that lost its claim records no attempt.

A worker closes what is due, claims it under the fencing token of its lease, sends it, and then
marks each notification as sent, tried or dead. Once its lease is over, another worker may claim the
same notifications, and the first can no longer mark them, except as sent: what was sent is sent. A
worker that keeps its lease may claim again what it claimed but no longer holds in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from dashboard.domain.alerts.hourly_cap import Closing
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import (
    DeliveryResult,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.store.alerts.closings import close, has_an_earlier_one
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


class ClaimRequest(Struct, frozen=True):
    """What to claim for a recipient: at most `limit` notifications, and none of `besides`.

    `besides` names what waits after a failure, and what this worker holds in memory already.
    `closings` are made first, since only closed notifications can be claimed.
    """

    recipient: Recipient
    limit: int
    besides: Sequence[UUID] = ()
    closings: Sequence[Closing] = ()


def pending_recipients(connection: Connection) -> list[Recipient]:
    """Return every recipient with a pending, closed notification, claimed or not."""
    column = notifications.c
    closed = select(column.channel, column.address).where(IS_PENDING, column.closed_at.is_not(None))
    return recipients_in(connection, closed.distinct())


def claim(
    connection: Connection, holder_token: int, wanted: Sequence[ClaimRequest], now: datetime
) -> list[Notification]:
    """Claim notifications for each of these recipients that no other worker with a lease claimed.

    The order is: fewest attempts first, then the highest precedence, then the oldest; of one
    incident only the earliest pending one. Nothing is claimed for a token whose own lease is over.
    A claim lasts until the notification is marked, the claim is released, or the lease ends. Commit
    before sending.
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
    """Mark a notification as sent, even if its claim was lost: what is sent is sent."""
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

    `next_attempt_at` is shown to people; the worker itself waits by a monotonic clock.
    """
    later = {"next_attempt_at": next_attempt_at}
    return _record_attempt(
        connection, _is_still_claimed(notification), (DeliveryResult.DEFERRED, error), later
    )


def first_attempt_at(connection: Connection, notification: Notification) -> datetime | None:
    """Return when the first of its attempts was made that are counted; None if none was.

    Those before a person had it sent again do not count.
    """
    column = deliveries.c
    query = (
        select(column.attempted_at)
        .where(column.notification_id == notification.notification_id)
        .order_by(column.delivery_id.desc())
        .offset(notification.attempts - 1)
        .limit(1)
    )
    moment: datetime | None = connection.scalar(query) if notification.attempts else None
    return moment


def note_first_attempt(connection: Connection, notification_id: UUID, at: datetime) -> None:
    """Record, on the open incidents of a notification, when people heard of them.

    Other incidents with one of its changes become due: their people may have heard of it as well.
    """
    column, pair, member = incidents.c, incident_transitions.c, notification_members.c
    is_mine = member.notification_id == notification_id
    told = column.incident_id.in_(select(member.incident_id).where(is_mine))
    shared = column.incident_id.in_(
        select(pair.incident_id)
        .join(notification_members, member.transition_id == pair.transition_id)
        .where(is_mine)
    )
    untold = update(incidents).where(column.open_key.is_not(None), column.notified_at.is_(None))
    changed = {"version": column.version + 1}
    connection.execute(untold.where(told).values(changed | {"notified_at": at}))
    not_pending = column.state != IncidentState.PENDING
    connection.execute(untold.where(shared, not_pending).values(changed | {"next_at": at}))


def try_at_once(connection: Connection, channel: str) -> None:
    """Let deliveries that a channel refused be tried at once: the channel works again."""
    failed = update(notifications).where(
        IS_PENDING, notifications.c.channel == channel, notifications.c.attempts > 0
    )
    connection.execute(failed.values(next_attempt_at=None))


def to_try_at_once(connection: Connection) -> list[Recipient]:
    """Return the recipients with failed deliveries that are to be tried at once."""
    column = notifications.c
    failed = select(column.channel, column.address).where(*_TO_TRY_AT_ONCE)
    return recipients_in(connection, failed.distinct())


def note_tries(connection: Connection, now: datetime) -> None:
    """Record that the deliveries to be tried at once are under way."""
    tried = update(notifications).where(*_TO_TRY_AT_ONCE)
    connection.execute(tried.values(next_attempt_at=now))


def release_claims(connection: Connection, holder_token: int, recipient: Recipient) -> None:
    """Release the claims of this token for a recipient on notifications that were not tried.

    A notification that this worker closed itself and nobody ever tried is open again, since no
    message was written yet. That includes notifications it did not claim, which may answer those it
    did.
    """
    column = notifications.c
    mine = (IS_PENDING, is_to(recipient))
    claimed = column.claimed_by == holder_token
    connection.execute(update(notifications).where(*mine, claimed).values(claimed_by=None))
    is_fresh = (column.claimed_by.is_(None), column.closed_by == holder_token, column.attempts == 0)
    open_again = {"closed_at": None, "closed_by": None, "in_reply_to": "", "thread": ""}
    connection.execute(update(notifications).where(*mine, *is_fresh).values(open_again))


def mark_dead(connection: Connection, notification: Notification, error: str, at: datetime) -> bool:
    """Mark a notification as dead, which keeps it on record; False if the claim was lost."""
    dead = {"state": NotificationState.DEAD, "next_attempt_at": at}
    return _record_attempt(
        connection, _is_still_claimed(notification), (DeliveryResult.REFUSED, error), dead
    )


def _claimable(request: ClaimRequest, others: Sequence[int]) -> Select[Any]:
    """Select the notifications that may be claimed, in order."""
    besides = [notifications.c.notification_id.not_in(request.besides)] if request.besides else []
    return (
        select(notifications.c.notification_id)
        .where(IS_PENDING, is_to(request.recipient), notifications.c.closed_at.is_not(None))
        .where(or_(notifications.c.claimed_by.is_(None), notifications.c.claimed_by.not_in(others)))
        .where(~has_an_earlier_one(), *besides)
        .order_by(
            *(notifications.c.attempts, notifications.c.precedence),
            *(notifications.c.created_at, notifications.c.position),
        )
        .limit(request.limit)
        .with_for_update(skip_locked=True, of=notifications)
    )


def _is_still_claimed(notification: Notification) -> ColumnElement[bool]:
    """Require that no other worker has claimed it since: refuses a worker that lost its lease."""
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
    """Record an attempt with its result, and release the claim; False if no claim matches."""
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
