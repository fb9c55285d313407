"""Notifications pending in a real store: a lease, rejections, and what came of delivering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from dashboard.alert.deliver import DeliveryPolicy
from dashboard.alert.notify import expand_outbox
from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.notification import Notification, NotificationState, Recipient
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.closings import open_notifications
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import ClaimRequest, claim, pending_recipients
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_transition
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import alone, closings_for
from tests.saved_record import save_record
from tests.waiting import PATIENCE

LEASE = timedelta(seconds=20)
_UNLIMITED = HourlyCap(largest_hourly=1_000_000)
PATIENT = DeliveryPolicy(patience=timedelta(seconds=PATIENCE), cap=_UNLIMITED)
"""Every message has the time that it needs, and none is merged with another."""

HASTY = DeliveryPolicy(patience=timedelta(milliseconds=50), cap=_UNLIMITED)
"""A message that is held is left to the next rounds."""


DEV = Recipient("mail", "dev@example.org")


def take_lease(store: Store, who: str = "worker 1", name: str = "worker") -> int:
    """Return the fencing token of a new worker."""
    with store.write() as connection:
        token = acquire(connection, name, who, LEASE)
    assert token is not None
    return token


def reject(
    store: Store,
    *numbers: int,
    transition: Transition | None = None,
    is_tracked: bool = True,
    **changes: Any,  # noqa: ANN401 - any field of the record
) -> None:
    """Let transactions be rejected, by default the first: the news waits in the outbox."""
    with store.write() as connection:
        for number in numbers or (1,):
            if is_tracked:
                track(connection, TrackRequest(a_hash(number), (A_NETWORK,)), A_MOMENT)
            news = transition or a_transition(number)
            tell_rejection(connection, a_record(tx_hash=a_hash(number), **changes), news)


def tell_rejection(
    connection: Connection,
    record: RejectedTransaction,
    news: Transition,
    seen_at: datetime = A_MOMENT,
) -> int:
    """Save a rejection with what is new by it; return its id."""
    network_id = news.subject.network_id
    rejection_id = save_record(connection, network_id, record, seen_at)
    assert record_transition(connection, news, rejection_id)
    return rejection_id


def make_pending(
    store: Store,
    count: int = 1,
    recipients: Sequence[Recipient] = (ONCALL,),
    now: datetime = A_MOMENT,
) -> None:
    """Make a notification of each of `count` rejections pending for each recipient, by itself."""
    reject(store, *range(1, count + 1))
    while expand_outbox(store, ConfiguredRecipients(tuple(recipients)), lambda: now, alone):
        pass


def claim_due(
    store: Store,
    token: int,
    now: datetime = A_MOMENT,
    limit: int = 10,
    besides: Sequence[Notification] = (),
) -> list[Notification]:
    """Claim so much for everybody, none of `besides`, and commit, as one must before sending."""
    with store.write() as connection:
        held = [each.notification_id for each in besides]
        return claim_for_all(connection, token, now, limit, held)


def claim_for_all(
    connection: Connection, token: int, now: datetime, limit: int, besides: Sequence[UUID] = ()
) -> list[Notification]:
    """Claim at most so many notifications for every recipient, and none of `besides`."""
    grouping = {each.recipient for each in open_notifications(connection)}
    wanted = [
        ClaimRequest(each, limit, besides, closings_for(connection, each))
        for each in sorted(
            {*pending_recipients(connection), *grouping}, key=lambda each: each.address
        )
    ]
    return claim(connection, token, wanted, now)


def notifications(store: Store) -> list[Notification]:
    with store.read() as connection:
        return recent_notifications(connection, 10_000)


def states(store: Store) -> Counter[NotificationState]:
    """Count the notifications by state."""
    return Counter(notification.state for notification in notifications(store))
