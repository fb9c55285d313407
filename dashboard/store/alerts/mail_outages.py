"""Outages of mail: what has failed since the last success, and what was reported of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, func, select, update

from dashboard.domain.alerts.notification import DeliveryResult
from dashboard.domain.health.troubles import MailOutage, MailTrouble
from dashboard.store.alerts.notifications import IS_PENDING
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import deliveries, mail_outages, notifications
from dashboard.store.schema.columns import read_as


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
