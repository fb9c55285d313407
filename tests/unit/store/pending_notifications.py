"""Stores in which something is pending."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dashboard.domain.alerts.notification import Notification, Recipient
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire
from dashboard.store.evidence.record_answers import save_record
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_transition, seconds
from tests.delivery_checks import claim_for_all
from tests.routes import expand_alone

OPS: Final = Recipient("mail", "ops@example.org")
DEV: Final = Recipient("mail", "dev@example.org")


def reject(store: Store, count: int = 1, *, is_tracked: bool = True) -> None:
    """See that many transactions rejected, each with its news in the outbox."""
    with store.write() as connection:
        for number in range(1, count + 1):
            if is_tracked:
                track(connection, TrackRequest(a_hash(number), (A_NETWORK,), None, ""), A_MOMENT)
            record = a_record(tx_hash=a_hash(number))
            rejection_id = save_record(connection, A_NETWORK, record, A_MOMENT)
            record_transition(connection, a_transition(number), rejection_id)


def make_pending(store: Store, count: int = 1, recipients: Sequence[Recipient] = (OPS,)) -> None:
    """Make notifications of that many rejections pending."""
    reject(store, count)
    with store.write() as connection:
        for entry in pending_expansion(connection, count):
            expand_alone(connection, entry, recipients, A_MOMENT)


def take_lease(store: Store, name: str = "worker", who: str = "us") -> int:
    """Hold a lease for a minute; return its fencing token."""
    with store.write() as connection:
        token = acquire(connection, name, who, seconds(60))
    assert token is not None
    return token


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
