"""Channels that do not take notifications: how many wait after a failed attempt, and who knows."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select

from dashboard.domain.condition import LONGEST_DIMENSION, State, SubjectKind, Transition
from dashboard.domain.grounds import DeliveryGrounds
from dashboard.domain.notification import DeliveryResult, Recipient
from dashboard.domain.recipients import mailbox_of
from dashboard.domain.rule_keys import MAIL
from dashboard.store.alerts.notification_claims import IS_PENDING
from dashboard.store.schema import deliveries, notification_members, notifications, transitions

_KNOWN: Final = "the message that mail failed came by mail, so it said that mail works again"

_ITSELF: Final = "it is about this very address, from which messages come back"


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


def needless(connection: Connection, recipient: Recipient, change: Transition) -> str:
    """Return why a recipient need not be notified of a change; empty where they do."""
    if change.subject.kind is SubjectKind.ADDRESS and recipient.channel == MAIL:
        address = mailbox_of(recipient).address[:LONGEST_DIMENSION]
        return _ITSELF if address == change.subject.dimension else ""
    return _known_recovery(connection, recipient, change)


def _known_recovery(connection: Connection, recipient: Recipient, end: Transition) -> str:
    """Return why a recipient need not be notified that mail is taken again; empty where they do.

    The message that it failed came by mail itself, and no attempt failed since. Over other
    channels programs are notified, which need the end.
    """
    if (end.after, end.subject.dimension, recipient.channel) != (State.DELIVERING, MAIL, MAIL):
        return ""
    attempt, member, begun = deliveries.c, notification_members.c, transitions.c
    opening = select(begun.opening_id).where(begun.transition_id == end.transition_id)
    sent = (
        select(func.max(attempt.delivery_id))
        .join(notification_members, member.notification_id == attempt.notification_id)
        .where(attempt.result == DeliveryResult.SENT)
        .where(member.channel == recipient.channel, member.address == recipient.address)
        .where(member.transition_id == opening.scalar_subquery())
    )
    found = connection.scalar(sent)
    if found is None:
        return ""
    failed_later = (
        select(attempt.delivery_id)
        .join(notifications, notifications.c.notification_id == attempt.notification_id)
        .where(notifications.c.channel == MAIL, attempt.delivery_id > found)
        .where(attempt.result == DeliveryResult.DEFERRED)
    )
    return _KNOWN if connection.scalar(failed_later.limit(1)) is None else ""
