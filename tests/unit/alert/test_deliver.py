"""What becomes of a notification: sent, deferred or refused, over a channel that does as told."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta

from dashboard.alert.deliver import Deliverer
from dashboard.alert.delivery_queue import RetryRule
from dashboard.alert.message import always
from dashboard.alert.notify import Notifier, expand_outbox
from dashboard.domain.alerts.notification import DeliveryResult, NotificationState
from dashboard.errors import DeliveryDeferred, DeliveryRefused
from dashboard.store.engine.engine import Store
from tests.delivery_checks import (
    LEASE,
    PATIENT,
    make_pending,
    notifications,
    reject,
    states,
    take_worker_lease,
)
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS, RecordingChannel
from tests.waiting import eventually

DEFERRED = DeliveryDeferred("451 try again later")


def test_notification_is_sent_and_marked(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store)

    results = deliverer.deliver_due(take_worker_lease(store))

    [notification] = notifications(store)
    assert results == Counter({DeliveryResult.SENT: 1})
    assert (notification.state, notification.outcome, notification.attempts) == (
        NotificationState.SENT,
        "250 taken",
        1,
    )
    assert [headers.message_id for headers in channel.taken] == [notification.message_id]


def test_message_is_dated_when_its_members_were_fixed(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    fake_clock.wait(LEASE / 2)

    deliverer.deliver_due(token)

    assert [each.date for each in channel.taken] == [
        each.closed_at for each in notifications(store)
    ]


def test_deferred_notification_stays_pending_says_why_and_is_tried_later(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    channel.errors[ONCALL.address] = DEFERRED
    deliverer.deliver_due(token)
    channel.errors.clear()

    too_early = deliverer.deliver_due(token)
    [waiting] = notifications(store)
    fake_clock.wait(RetryRule().first_wait)
    later = deliverer.deliver_due(token)

    assert (too_early, later) == (Counter(), Counter({DeliveryResult.SENT: 1}))
    assert (waiting.state, waiting.outcome) == (NotificationState.PENDING, "451 try again later")


def test_refused_notification_becomes_a_dead_message(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store)
    channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")

    results = deliverer.deliver_due(take_worker_lease(store))

    [notification] = notifications(store)
    assert results == Counter({DeliveryResult.REFUSED: 1})
    assert (notification.state, notification.outcome) == (
        NotificationState.DEAD,
        "550 no such user",
    )


def test_one_refused_recipient_costs_the_others_nothing(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 3, [ONCALL, OTHERS])
    channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")

    deliverer.deliver_due(take_worker_lease(store))

    assert states(store) == {NotificationState.DEAD: 3, NotificationState.SENT: 3}


def test_outbox_owes_one_notification_to_each_recipient(
    store: Store, fake_clock: FakeClock
) -> None:
    reject(store)

    expand_outbox(store, [ONCALL, OTHERS], fake_clock.now)

    assert expand_outbox(store, [ONCALL, OTHERS], fake_clock.now) == 0
    assert states(store) == {NotificationState.PENDING: 2}


def test_post_office_owes_and_delivers_in_one_round(
    store: Store, deliverer: Deliverer, fake_clock: FakeClock
) -> None:
    reject(store)
    notifier = Notifier(store, [ONCALL], deliverer, fake_clock.now)

    assert notifier.run(take_worker_lease(store), always), "what was new may have been only a part"
    assert states(store) == {NotificationState.SENT: 1}
    assert not notifier.run(take_worker_lease(store), always)
    assert notifier.finish(timedelta(seconds=1)) == Counter()


def test_threads_end_with_their_deliverer(store: Store, fake_clock: FakeClock) -> None:
    make_pending(store)
    channel, before = RecordingChannel(), set(threading.enumerate())
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, PATIENT)
    assert deliverer.deliver_due(take_worker_lease(store))[DeliveryResult.SENT] == 1
    begun = set(threading.enumerate()) - before
    assert begun

    del deliverer

    eventually(lambda: not any(each.is_alive() for each in begun), what="the end of the threads")
