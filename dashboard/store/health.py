"""Health of the installation: notifications, outages of mail, the size of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Select, func, select, update

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import DeliveryAttempt, DeliveryResult
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.health.mail_outages_and_failing_roles import MailOutage, MailTrouble
from dashboard.domain.health.observation import Operation
from dashboard.domain.health.retention import ClockJump, StoreSize
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.alerts.alert_status import (
    NotificationCounts,
    count_open_incidents,
    failing_deliveries,
    notification_counts,
)
from dashboard.store.alerts.notifications import IS_PENDING
from dashboard.store.engine.engine import database_of
from dashboard.store.engine.leases import WORKER_LEASE, holder
from dashboard.store.engine.upsert import insert_new
from dashboard.store.monitoring.answer_counts import last_answers_of, standing_failures_of
from dashboard.store.monitoring.upkeep import clock_jump, free_space, last_measured
from dashboard.store.rejections.counts import count_rejections
from dashboard.store.schema import cohorts, deliveries, mail_outages, notifications
from dashboard.store.schema.columns import read_as

_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MailState(Struct, frozen=True):
    """The notifications of some period by state, and the latest attempt to send one.

    `trouble` is what has failed since the last accepted mail, `next_attempt_at` when the next one
    is tried; `outage` is what was reported of it over the fallback. `failing` are the channels that
    refuse what is tried.
    """

    counts: NotificationCounts
    last_attempt: DeliveryAttempt | None = None
    trouble: MailTrouble | None = None
    next_attempt_at: datetime | None = None
    outage: MailOutage | None = None
    failing: tuple[str, ...] = ()


class StoreSpace(Struct, frozen=True):
    """Whether the store has room.

    `measured` is at most a day old; None if no worker has measured it yet. During a `clock_jump`,
    nothing is purged that became old by it. `free_on_disk` is the present value in bytes; None if
    the database does not know.
    """

    measured: StoreSize | None = None
    clock_jump: ClockJump | None = None
    free_on_disk: int | None = None


class WorkState(Struct, frozen=True):
    """The state of the work in numbers: whether there is a worker, who answers, what is pending.

    `has_worker`: one holds the lease; none does if it ended, is paused or is cut off. `failing` are
    questions without an answer since they failed. `free_on_disk` as in `StoreSpace`.
    """

    has_worker: bool
    answered_at: Mapping[tuple[NetworkId, Operation], datetime]
    failing: Collection[tuple[NetworkId, Operation]]
    incidents: Counter[tuple[Severity, IncidentState]]
    notifications: NotificationCounts
    free_on_disk: int | None


class StoreContents(Struct, frozen=True):
    """The size of the store in bytes, and how many transactions and rejections it has."""

    size: int
    tracked: int
    rejections: int


def work_state(
    connection: Connection, network_ids: Collection[NetworkId], since: datetime
) -> WorkState:
    """Return the state of the work on some networks; notifications count from `since` on."""
    failing = standing_failures_of(connection, network_ids)
    return WorkState(
        has_worker=holder(connection, WORKER_LEASE) is not None,
        answered_at=last_answers_of(connection, network_ids),
        failing={(each, one.operation) for each, found in failing.items() for one in found},
        incidents=count_open_incidents(connection),
        notifications=notification_counts(connection, since),
        free_on_disk=free_space(connection).on_disk,
    )


def mail_state(connection: Connection, since: datetime = _EVER) -> MailState:
    """Count what is pending, and the notifications made from `since` on by state."""
    counts = notification_counts(connection, since)
    next_attempt = select(func.min(notifications.c.next_attempt_at)).where(
        IS_PENDING, notifications.c.channel == MAIL
    )
    return MailState(
        counts,
        _last_attempt(connection),
        mail_trouble(connection, MAIL),
        connection.scalar(next_attempt),
        unreported_outage(connection),
        tuple(sorted(failing_deliveries(connection))),
    )


def store_space(connection: Connection, now: datetime) -> StoreSpace:
    """Return what is known of the space that the store uses and has left."""
    return StoreSpace(
        measured=last_measured(connection),
        clock_jump=clock_jump(connection, now),
        free_on_disk=free_space(connection).on_disk,
    )


def store_contents(connection: Connection) -> StoreContents:
    """Return how large the store is and what it contains, without a full scan."""
    return StoreContents(
        size=database_of(connection).size(connection),
        tracked=connection.scalar(select(func.sum(cohorts.c.size))) or 0,
        rejections=count_rejections(connection, RejectionFilter()),
    )


def _last_attempt(connection: Connection) -> DeliveryAttempt | None:
    query = select(deliveries).order_by(deliveries.c.delivery_id.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else read_as(DeliveryAttempt, row, deliveries)


def mail_trouble(connection: Connection, channel: str) -> MailTrouble | None:
    """Return what has failed on a channel since its last success; None if nothing has."""
    is_used = select(notifications.c.channel).where(notifications.c.channel == channel).limit(1)
    if connection.scalar(is_used) is None:
        return None
    last_sent = connection.scalar(_attempts(channel, DeliveryResult.SENT).limit(1)) or 0
    failed = _attempts(channel, DeliveryResult.DEFERRED).where(deliveries.c.delivery_id > last_sent)
    column = deliveries.c
    rows = failed.with_only_columns(column.attempted_at, column.outcome)
    first = connection.execute(rows.order_by(None).order_by(column.delivery_id).limit(1)).first()
    last = connection.execute(rows.limit(1)).first()
    if first is None or last is None:
        return None
    pending = select(func.count()).where(IS_PENDING, notifications.c.channel == channel)
    count = connection.scalar(pending) or 0
    return MailTrouble(last_sent, first.attempted_at, count, last.outcome)


def accepted_after(connection: Connection, channel: str, delivery_id: int) -> datetime | None:
    """Return when a message was first accepted after an attempt, if one was."""
    column = deliveries.c
    sent = _attempts(channel, DeliveryResult.SENT).where(column.delivery_id > delivery_id)
    first = sent.with_only_columns(column.attempted_at).order_by(None).order_by(column.delivery_id)
    return connection.scalar(first.limit(1))


def unreported_outage(connection: Connection) -> MailOutage | None:
    """Return the oldest outage that is not fully reported."""
    column = mail_outages.c
    query = select(mail_outages).where(column.end_reported_at.is_(None)).order_by(column.since)
    row = connection.execute(query.limit(1)).first()
    return None if row is None else read_as(MailOutage, row, mail_outages)


def begin_outage(connection: Connection, trouble: MailTrouble) -> None:
    row = {"after_delivery": trouble.after_delivery, "since": trouble.since}
    insert_new(connection, mail_outages, row)


def note_outage(connection: Connection, outage: MailOutage, **times: datetime) -> None:
    """Record a step of an outage: `reported_at`, `ended_at`, `end_reported_at`."""
    mine = mail_outages.c.after_delivery == outage.after_delivery
    connection.execute(update(mail_outages).where(mine).values(**times))


def _attempts(channel: str, result: DeliveryResult) -> Select[Any]:
    """Select the attempts of a channel with a result, the latest first.

    They are read one by one from the latest: a join would read all notifications of the channel.
    """
    column = deliveries.c
    of_notification = notifications.c.notification_id == column.notification_id
    made_by = select(notifications.c.channel).where(of_notification).scalar_subquery()
    attempts = select(column.delivery_id).where(column.result == result, made_by == channel)
    return attempts.order_by(column.delivery_id.desc())
