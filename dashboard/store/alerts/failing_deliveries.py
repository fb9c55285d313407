"""Channels that do not take notifications now: how many wait after an attempt that failed."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from dashboard.domain.grounds import DeliveryGrounds
from dashboard.store.alerts.notification_claims import IS_PENDING
from dashboard.store.schema import notifications


def failing_deliveries(connection: Connection) -> dict[str, DeliveryGrounds]:
    """Return what each channel does not take, with the answer to its oldest notification."""
    column = notifications.c
    failing = (IS_PENDING, column.attempts > 0)
    of_channels = select(column.channel, func.count(), func.min(column.created_at)).where(*failing)
    found = {}
    for channel, many, oldest in connection.execute(of_channels.group_by(column.channel)).all():
        answer = select(column.outcome).where(*failing, column.channel == channel)
        outcome = connection.scalar(answer.order_by(column.created_at).limit(1))
        found[channel] = DeliveryGrounds(many, oldest, outcome or "")
    return found
