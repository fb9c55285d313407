"""The outbox: transitions become notices, and notices are claimed, sent and marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
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
from dashboard.domain.notice import Delivery, DeliveryResult, Notice, NoticeState, Recipient
from dashboard.store.columns import ForeignText, Moment
from dashboard.store.held import is_uncertain, restored_at
from dashboard.store.leases import live_tokens
from dashboard.store.notice_rows import (
    cause_of,
    message_id_of,
    notice_id_of,
    notice_of,
    select_causes,
    select_notices,
)
from dashboard.store.schema import deliveries, notices, outbox, transitions
from dashboard.store.upsert import insert_new

LONGEST_PAUSE: Final = timedelta(days=1)
"""No notice rests longer: a later time comes from a clock that was wrong."""

# Written out, so that the planner sees that the partial index fits.
IS_OWED: Final = notices.c.state == literal_column("'owed'")


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A transition that nobody was told of yet, with the rejection behind it.

    `is_held`: it is of a time of which a restored store does not know who was told of what.
    """

    transition: Transition
    rejection: StoredRejection | None
    is_held: bool = False


def unexpanded(connection: Connection, limit: int) -> list[OutboxEntry]:
    """Return what was not turned into notices yet, oldest first."""
    query = (
        select_causes()
        .join(outbox, outbox.c.transition_id == transitions.c.transition_id)
        .where(outbox.c.expanded_at.is_(None))
        .order_by(outbox.c.outbox_id)
        .limit(limit)
    )
    causes = [cause_of(row) for row in connection.execute(query).mappings()]
    last_restored = restored_at(connection) if causes else None
    return [OutboxEntry(*cause, is_uncertain(*cause, last_restored)) for cause in causes]


def expand(
    connection: Connection, entry: OutboxEntry, recipients: Sequence[Recipient], now: datetime
) -> int:
    """Owe one notice to each recipient; return how many are new, none the second time.

    A notice's id and Message-ID follow from transition and recipient, so even a store that was
    set back to a backup repeats them. What is held is not sent before somebody releases it.
    """
    transition_id = entry.transition.transition_id
    mine = outbox.c.transition_id == transition_id
    first = update(outbox).where(mine, outbox.c.expanded_at.is_(None)).values(expanded_at=now)
    if connection.execute(first).rowcount == 0:
        return 0
    return sum(
        insert_new(connection, notices, _new_notice(entry, recipient, now))
        for recipient in recipients
    )


def claim(connection: Connection, holder_token: int, now: datetime, limit: int) -> list[Notice]:
    """Take notices that are due and that no holder of a living lease has taken.

    Those come first that are due the longest, so that every recipient has its turn; then those
    tried least, then the oldest. Nothing for a token whose own lease is void. What was taken
    stays taken until it is marked, or until the lease ends. Commit before sending.
    """
    alive = live_tokens(connection)
    if holder_token not in alive:
        return []
    due = (
        select(notices.c.notice_id)
        .where(IS_OWED, _is_due(now))
        .where(or_(notices.c.claimed_by.is_(None), notices.c.claimed_by.not_in(alive)))
        .order_by(notices.c.next_attempt_at, notices.c.attempts, notices.c.created_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    ids = connection.scalars(due).all()
    taken = update(notices).where(notices.c.notice_id.in_(ids))
    connection.execute(taken.values(claimed_by=holder_token, claimed_at=now))
    query = select_notices().where(notices.c.notice_id.in_(ids)).order_by(notices.c.created_at)
    return [notice_of(row) for row in connection.execute(query).mappings()]


def mark_sent(connection: Connection, notice_id: UUID, answer: str, at: datetime) -> None:
    """Note that the channel took a notice, under whatever claim: what is sent is sent."""
    sent = {
        "state": NoticeState.SENT,
        "sent_at": func.coalesce(notices.c.sent_at, literal(at, Moment)),
    }
    of_notice = notices.c.notice_id == notice_id
    _finish(connection, of_notice, (DeliveryResult.SENT, answer), sent)


def defer(connection: Connection, notice: Notice, error: str, next_attempt_at: datetime) -> bool:
    """Owe a notice on, until `next_attempt_at`; False where the claim was lost meanwhile."""
    later = {"next_attempt_at": next_attempt_at}
    return _finish(connection, _is_claimed_as(notice), (DeliveryResult.DEFERRED, error), later)


def put_off(connection: Connection, notice: Notice, next_attempt_at: datetime) -> bool:
    """Free a claimed notice that was not tried, until `next_attempt_at`; False as for `defer`."""
    mine = update(notices).where(_is_claimed_as(notice))
    freed = mine.values(claimed_by=None, next_attempt_at=next_attempt_at)
    return connection.execute(freed).rowcount == 1


def bury(connection: Connection, notice: Notice, error: str, at: datetime) -> bool:
    """Give a notice up as a dead letter, which is kept; False where the claim was lost."""
    dead = {"state": NoticeState.DEAD, "next_attempt_at": at}
    return _finish(connection, _is_claimed_as(notice), (DeliveryResult.REFUSED, error), dead)


def recent_notices(connection: Connection, limit: int) -> list[Notice]:
    """Return the notices of whatever state that were owed last, the latest first."""
    query = select_notices().order_by(notices.c.created_at.desc(), notices.c.notice_id).limit(limit)
    return [notice_of(row) for row in connection.execute(query).mappings()]


def deliveries_of(connection: Connection, notice_id: UUID) -> list[Delivery]:
    """Return every finished attempt to hand a notice over, oldest first."""
    return deliveries_by_notice(connection, [notice_id])[notice_id]


def deliveries_by_notice(
    connection: Connection, notice_ids: Sequence[UUID]
) -> dict[UUID, list[Delivery]]:
    """Return the same of each of these notices."""
    found: dict[UUID, list[Delivery]] = {each: [] for each in notice_ids}
    query = (
        select(deliveries)
        .where(deliveries.c.notice_id.in_(notice_ids))
        .order_by(deliveries.c.delivery_id)
    )
    for row in connection.execute(query):
        attempt = Delivery(row.attempted_at, DeliveryResult(row.result), row.outcome)
        found[row.notice_id].append(attempt)
    return found


def _is_due(now: datetime) -> ColumnElement[bool]:
    at = notices.c.next_attempt_at
    return or_(at <= now, at > now + LONGEST_PAUSE)


def _is_claimed_as(notice: Notice) -> ColumnElement[bool]:
    return and_(
        notices.c.notice_id == notice.notice_id,
        notices.c.claimed_by == notice.claimed_by,
        IS_OWED,
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
        notices.c.notice_id,
        func.coalesce(notices.c.claimed_at, notices.c.created_at),
        literal(result),
        literal(outcome, ForeignText),
    )
    columns = ["notice_id", "attempted_at", "result", "outcome"]
    attempted = insert(deliveries).from_select(columns, log.where(which))
    if connection.execute(attempted.returning(deliveries.c.delivery_id)).first() is None:
        return False
    freed = {"claimed_by": None, "outcome": outcome, "attempts": notices.c.attempts + 1}
    connection.execute(update(notices).where(which).values(**freed, **changed))
    return True


def _new_notice(entry: OutboxEntry, recipient: Recipient, now: datetime) -> dict[str, Any]:
    transition_id = entry.transition.transition_id
    notice_id = notice_id_of(transition_id, recipient)
    return {
        "notice_id": notice_id,
        "transition_id": transition_id,
        "channel": recipient.channel,
        "address": recipient.address,
        "message_id": message_id_of(notice_id),
        "created_at": now,
        "state": NoticeState.HELD if entry.is_held else NoticeState.OWED,
        "attempts": 0,
        "next_attempt_at": now,
        "outcome": "",
    }
