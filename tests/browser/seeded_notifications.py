"""Messages in every state, networks in trouble, and more tracked transactions than fit a page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_dead, mark_sent, reschedule
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire, release
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_store import HOSTILE, SILENT, SIMULATED, tx_hash
from tests.builders import an_id
from tests.delivery_checks import claim_for_all
from tests.one_by_one import versions
from tests.routes import expand_alone

OPS: Final = Recipient("mail", "operations-and-on-call@mail.example.org")
MORE_TRACKED: Final = 40
"""Hashes that were never asked about, of which three have the label of one case."""


def seed_notifications(store: Store, now: datetime) -> None:
    """Tell of the first four rejections and of both networks, and track many hashes."""
    with store.write() as connection:
        for number in range(1, 5):
            _tell_rejection(connection, number, now - timedelta(minutes=7 * number))
        _tell_network(connection, 10, Subject(SubjectKind.BUSYNESS, SIMULATED.network_id), now)
        _tell_network(connection, 11, Subject(SubjectKind.GAS_API, SILENT.network_id), now)
        token = acquire(connection, "worker", "seed", timedelta(hours=1))
        assert token is not None
        for entry in pending_expansion(connection, 10):
            expand_alone(connection, entry, [OPS], entry.transition.at)
    with store.write() as connection:
        _deliver(connection, token, now)
        release(connection, "worker", token)
        for number in range(MORE_TRACKED):
            label = "Case 2001" if number < 3 else ""
            of_many = TxHash(bytes([0xA0, number]) * 16)
            request = TrackRequest(of_many, (SIMULATED.network_id,), Remarks(label=label))
            track(connection, request, now - timedelta(hours=1, minutes=number))
        hostile = TrackRequest(tx_hash(10), (SIMULATED.network_id,), Remarks(now, HOSTILE, HOSTILE))
        track(connection, hostile, now)


def _tell_rejection(connection: Connection, number: int, at: datetime) -> None:
    subject = Subject.transaction(SIMULATED.network_id, tx_hash(number))
    news = Transition(an_id(number), subject, None, State.REJECTED, at)
    assert record_transition(
        connection, news, versions(connection, tx_hash(number))[0].rejection_id
    )


def _tell_network(connection: Connection, number: int, subject: Subject, now: datetime) -> None:
    after = State.BUSY if subject.kind is SubjectKind.BUSYNESS else State.SILENT
    news = Transition(an_id(number), subject, None, after, now - timedelta(minutes=number))
    assert record_transition(connection, news, None)


def _deliver(connection: Connection, token: int, now: datetime) -> None:
    """Send most, defer what is for the third rejection, and give that for the fourth up."""
    for notification in claim_for_all(connection, token, now, 20):
        asked = notification.transition.subject.tx_hash
        if asked == tx_hash(3):
            reschedule(connection, notification, "451 4.7.1 greylisted, try again later", now)
        elif asked == tx_hash(4):
            mark_dead(connection, notification, f"550 5.1.1 no such user {HOSTILE}", now)
        else:
            mark_sent(
                connection, notification.notification_id, "250 2.0.0 Ok: queued as 4F1C2", now
            )
