"""Which message has its turn when one of them, or its server, makes trouble."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from dashboard.alert.deliver import Deliverer
from dashboard.alert.delivery_queue import RetryRule
from dashboard.domain.alerts.notification import DeliveryResult, NotificationState
from dashboard.errors import DeliveryBlocked, DeliveryDeferred
from dashboard.store.engine.engine import Store
from tests.delivery_checks import PATIENT, make_pending, notifications, states, take_worker_lease
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, RecordingChannel
from tests.stored_notifications import deliveries_of, recent_notifications

DEFERRED = DeliveryDeferred("451 try again later")
SILENT = DeliveryBlocked("did not answer within 20 s")


def attempts_of(store: Store) -> list[int]:
    return sorted(notification.attempts for notification in notifications(store))


def assert_attempts_are_written_down(store: Store) -> None:
    """Every attempt that is counted has its row, and no other row exists."""
    with store.read() as connection:
        for notification in recent_notifications(connection, 100):
            assert (
                len(deliveries_of(connection, notification.notification_id))
                == notification.attempts
            )


def test_silent_recipient_is_tried_once_for_all_that_waits_for_it(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 5)
    channel.errors[ONCALL.address] = SILENT

    results = deliverer.deliver_due(take_worker_lease(store))

    assert len(channel.tried) == 1
    assert results == Counter({DeliveryResult.DEFERRED: 1})
    assert attempts_of(store) == [0, 0, 0, 0, 1]
    assert_attempts_are_written_down(store)


def test_second_round_for_a_silent_recipient_tries_another_message(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store, 5)
    channel.errors[ONCALL.address] = SILENT

    for _ in range(2):
        deliverer.deliver_due(take_worker_lease(store))
        fake_clock.wait(RetryRule().first_wait)

    assert len({headers.message_id for headers in channel.tried}) == len(channel.tried) == 2
    assert attempts_of(store) == [1, 1]  # the other message is of all that waited meanwhile


def test_message_that_silences_the_server_goes_last_the_next_time(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store, 5)
    channel.errors[ONCALL.address] = SILENT
    deliverer.deliver_due(take_worker_lease(store))
    [poison] = channel.tried
    channel.errors = {poison.message_id: SILENT}

    fake_clock.wait(RetryRule().first_wait)
    deliverer.deliver_due(take_worker_lease(store))

    assert states(store) == {NotificationState.SENT: 1, NotificationState.PENDING: 1}
    assert channel.tried[-1] == poison


def test_message_that_is_deferred_for_its_own_sake_delays_no_other(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 5)
    poison = notifications(store)[0]
    channel.errors[poison.message_id] = DEFERRED

    deliverer.deliver_due(take_worker_lease(store))

    assert states(store) == {NotificationState.SENT: 4, NotificationState.PENDING: 1}


def test_nothing_is_given_up_without_attempts_of_its_own(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store, 3)
    channel.errors[ONCALL.address] = SILENT
    rule = RetryRule(patience=timedelta(days=1), fewest_attempts=4)
    policy = replace(PATIENT, retry=rule)
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, policy)

    while states(store)[NotificationState.PENDING]:
        deliverer.deliver_due(take_worker_lease(store))
        fake_clock.wait(timedelta(hours=12))

    assert set(attempts_of(store)) == {4}
    assert_attempts_are_written_down(store)


def test_what_was_claimed_before_a_term_lapsed_is_sent_once_the_term_is_renewed(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 6)
    token = take_worker_lease(store)

    deliverer.deliver_due(token, may_send=lambda: not channel.taken)  # lapses after the first
    assert states(store) == {NotificationState.SENT: 1, NotificationState.PENDING: 5}
    deliverer.deliver_due(token)  # the same worker, under the same token

    assert states(store) == {NotificationState.SENT: 6}
    assert len({headers.message_id for headers in channel.taken}) == len(channel.taken) == 6


def test_attempt_that_is_withheld_is_made_once_the_term_is_renewed(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    answers = iter([True, True, False])  # lapses while the message is handed over
    deliverer.deliver_due(token, may_send=lambda: next(answers, False))
    assert channel.tried
    assert not channel.taken

    deliverer.deliver_due(token)

    assert states(store) == {NotificationState.SENT: 1}
