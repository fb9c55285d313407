"""A notification is pending once for each recipient, until it is sent or dead."""

from __future__ import annotations

from msgspec.structs import replace

from dashboard.alert.notify import expand_outbox
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.notification_claims import (
    mark_dead,
    mark_sent,
    release_claims,
    reschedule,
)
from dashboard.store.alerts.notifications import message_id_of, renew_link_key
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_transition, seconds
from tests.delivery_checks import DEV, claim_due, make_pending, reject, take_lease
from tests.one_by_one import deliveries_of, recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import expand_alone
from tests.unit.store.fake_machine import Machine


def test_outbox_is_read_oldest_first_and_in_parts(store: Store) -> None:
    reject(store, 1, 2, 3)

    with store.read() as connection:
        entries = pending_expansion(connection, 2)

    assert [entry.transition for entry in entries] == [a_transition(1), a_transition(2)]


def test_rules_see_what_people_wrote_at_a_transaction_and_whether_they_track_it(
    store: Store,
) -> None:
    reject(store, 1, 2, is_tracked=False)
    with store.write() as connection:
        request = TrackRequest(
            a_hash(1), (A_NETWORK,), Remarks(label="Case 1742", note="asked by #vip")
        )
        track(connection, request, A_MOMENT)
        tracked, other = (entry.change for entry in pending_expansion(connection, 10))

    assert (tracked.label, tracked.tags, tracked.is_tracked) == (
        "Case 1742",
        frozenset({"vip"}),
        True,
    )
    assert (other.label, other.is_tracked) == ("", False)
    assert not other.tags


def test_recipient_named_twice_is_pending_one_notification(store: Store) -> None:
    reject(store)
    with store.write() as connection:
        (entry,) = pending_expansion(connection, 10)

        assert expand_alone(connection, entry, [ONCALL, ONCALL], A_MOMENT) == 1


def test_each_notification_has_a_message_id_of_its_own(store: Store) -> None:
    other_channel = Recipient("maildir", ONCALL.address)
    make_pending(store, count=2, recipients=[ONCALL, DEV, other_channel])

    with store.read() as connection:
        pending = recent_notifications(connection, 10)

    assert len({notification.message_id for notification in pending}) == 6


def test_message_id_follows_from_nothing_that_others_see(store: Store) -> None:
    """Its notification's id follows from those of changes, which every webhook carries."""
    make_pending(store, recipients=[ONCALL])

    with store.read() as connection:
        [notification] = recent_notifications(connection, 1)
    with store.write() as connection:
        before = message_id_of(connection, notification.notification_id)
        renew_link_key(connection, bytes(32))
        after = message_id_of(connection, notification.notification_id)

    assert notification.message_id == before != after
    assert str(notification.notification_id) not in before + after


def test_message_id_stands_below_the_domain_of_the_sender(store: Store) -> None:
    reject(store)

    expand_outbox(store, ConfiguredRecipients((ONCALL,)), lambda: A_MOMENT, domain="watch.example")

    with store.read() as connection:
        [notification] = recent_notifications(connection, 10)
    assert notification.message_id.endswith("@watch.example>")


def test_holder_that_lost_its_claim_can_neither_defer_nor_free_nor_bury(
    store: Store, machine: Machine
) -> None:
    make_pending(store)
    (stale,) = claim_due(store, take_lease(store))
    machine.wait(seconds(60))
    (notification,) = claim_due(store, take_lease(store, who="the next"))
    with store.write() as connection:
        assert not reschedule(connection, stale, "late", A_MOMENT)
        release_claims(connection, stale.claimed_by or 0, ONCALL)
        assert not mark_dead(connection, stale, "late", A_MOMENT)
        assert deliveries_of(connection, notification.notification_id) == []
        (stored,) = recent_notifications(connection, 1)
        assert stored == replace(notification, incident=None)


def test_holder_that_lost_its_claim_still_tells_what_it_sent(
    store: Store, machine: Machine
) -> None:
    make_pending(store)
    (stale,) = claim_due(store, take_lease(store))
    machine.wait(seconds(60))
    (notification,) = claim_due(store, take_lease(store, who="the next"))
    with store.write() as connection:
        mark_sent(connection, stale.notification_id, "250 first", A_MOMENT + seconds(1))
        assert not reschedule(connection, notification, "451", A_MOMENT + seconds(9))
        mark_sent(connection, notification.notification_id, "250 second", A_MOMENT + seconds(2))
        (sent,) = recent_notifications(connection, 1)
        log = deliveries_of(connection, notification.notification_id)

    assert (sent.state, sent.sent_at) == (NotificationState.SENT, A_MOMENT + seconds(1))
    assert [delivery.outcome for delivery in log] == ["250 first", "250 second"]
