"""Delivery when recipients are silent, leases end, stores refuse and clocks are set."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.delivery_queue import QueueLimits, RetryRule
from dashboard.alert.message import Message
from dashboard.alert.notify import expand_outbox
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.recipients import Recipients
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.notification import (
    DeliveryResult,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.errors import (
    DeliveryBlocked,
    DeliveryDeferred,
    DeliveryError,
    DeliveryRefused,
    StoreUnavailable,
)
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import renew
from tests.builders import A_MOMENT, a_transition, an_id
from tests.delivery_checks import (
    HASTY,
    LEASE,
    PATIENT,
    make_pending,
    notifications,
    reject,
    states,
    take_worker_lease,
)
from tests.fake_clock import FakeClock
from tests.flaky_store import FlakyStore
from tests.recording_channel import ONCALL, OTHERS, RecordingChannel
from tests.routes import alone
from tests.waiting import PATIENCE

DEFERRED = DeliveryDeferred("451 try again later")
SILENT = DeliveryBlocked("did not answer within 20 s")


def test_silent_recipient_does_not_hold_up_the_others(store: Store, fake_clock: FakeClock) -> None:
    make_pending(store, 5, [ONCALL, OTHERS])
    channel = RecordingChannel(ONCALL.address)
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, HASTY)

    deliverer.deliver_due(take_worker_lease(store))

    assert channel.addresses() == [OTHERS.address] * 5
    channel.let_go.set()


def test_test_message_that_is_taken_ends_what_a_server_asked_for(
    store: Store, channel: RecordingChannel, deliverer: Deliverer
) -> None:
    make_pending(store, 2)
    token = take_worker_lease(store)
    channel.errors[ONCALL.address] = DeliveryBlocked("429", retry_after=timedelta(hours=1))
    deliverer.deliver_due(token)
    channel.errors.clear()
    deliverer.deliver_due(token)
    assert len(channel.tried) == 1
    settings = PageSettings(recipients=ConfiguredRecipients((ONCALL,)))
    context = ApplicationContext(store, (), lambda: A_MOMENT, settings=settings)

    Recipients(context).try_out(ONCALL, lambda: "250 ok", Actor("Ann", A_MOMENT))
    deliverer.deliver_due(token)

    assert states(store) == {NotificationState.SENT: 2}


def test_test_message_that_is_not_taken_changes_nothing(
    store: Store, channel: RecordingChannel, deliverer: Deliverer
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    channel.errors[ONCALL.address] = DeliveryBlocked("429", retry_after=timedelta(hours=1))
    deliverer.deliver_due(token)
    settings = PageSettings(recipients=ConfiguredRecipients((ONCALL,)))
    context = ApplicationContext(store, (), lambda: A_MOMENT, settings=settings)

    def refuse() -> str:
        raise DEFERRED

    Recipients(context).try_out(ONCALL, refuse, Actor("Ann", A_MOMENT))
    deliverer.deliver_due(token)

    assert len(channel.tried) == 1


def test_messages_that_were_put_off_stay_so_where_the_store_refuses_at_first(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store, 2)
    token = take_worker_lease(store)
    flaky_store = FlakyStore(store)
    channel.errors[ONCALL.address] = SILENT
    deliverer = Deliverer(flaky_store, channel.sending, fake_clock.now, fake_clock.elapsed, PATIENT)
    flaky_store.fail_after(writes=1)

    with pytest.raises(StoreUnavailable):
        deliverer.deliver_due(token)
    deliverer.deliver_due(token)

    assert len(channel.tried) == 1
    assert [each.claimed_by for each in notifications(store)] == [None, None]


def test_failure_is_logged_with_its_notification_recipient_and_inert_words(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 1, [ONCALL, OTHERS])
    channel.errors[ONCALL.address] = DeliveryRefused("550 no \x1b[31msuch user")
    channel.errors[OTHERS.address] = DEFERRED

    with capture_logs() as lines:
        deliverer.deliver_due(take_worker_lease(store))

    ids = {each.recipient: str(each.notification_id) for each in notifications(store)}
    assert sorted(lines, key=lambda line: line["log_level"]) == [
        a_line("error", "is dead", ids[ONCALL], ONCALL, "550 no \\u001b[31msuch user"),
        a_line("warning", "was deferred", ids[OTHERS], OTHERS, "451 try again later"),
    ]


def a_line(
    level: str, event: str, notification: str, recipient: Recipient, words: str
) -> dict[str, str]:
    return {
        "log_level": level,
        "subject": "delivery",
        "event": f"a notification {event}",
        "notification": notification,
        "recipient": recipient.address,
        "answer": words,
    }


def test_finishing_starts_nothing_more(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store)

    assert deliverer.finish(timedelta(seconds=1)) == Counter()
    assert channel.tried == []


def test_worker_without_a_living_lease_sends_nothing(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    fake_clock.wait(LEASE)

    deliverer.deliver_due(token)

    assert channel.tried == []


def test_next_worker_sends_what_the_last_one_claimed(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    silent = RecordingChannel(ONCALL.address)
    lost = Deliverer(store, silent.sending, fake_clock.now, fake_clock.elapsed, HASTY)
    lost.deliver_due(take_worker_lease(store))
    fake_clock.wait(LEASE)

    successor = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, PATIENT)
    successor.deliver_due(take_worker_lease(store, "worker 2"))

    assert states(store) == {NotificationState.SENT: 1}
    assert channel.taken == silent.tried
    silent.let_go.set()


def test_message_that_is_under_way_in_a_new_term_is_not_sent_twice(
    store: Store, fake_clock: FakeClock
) -> None:
    make_pending(store)
    channel = RecordingChannel(ONCALL.address)
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, HASTY)
    deliverer.deliver_due(take_worker_lease(store))
    fake_clock.wait(LEASE)
    deliverer.deliver_due(take_worker_lease(store, "worker 2"))

    channel.let_go.set()
    deliverer.finish(timedelta(seconds=PATIENCE))

    assert len(channel.tried) == 1
    assert states(store) == {NotificationState.SENT: 1}


def test_outcome_that_could_not_be_stored_is_stored_later_and_not_sent_again(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    flaky_store = FlakyStore(store)
    deliverer = Deliverer(flaky_store, channel.sending, fake_clock.now, fake_clock.elapsed, PATIENT)
    flaky_store.fail_after(writes=1)

    with pytest.raises(StoreUnavailable):
        deliverer.deliver_due(token)
    deliverer.deliver_due(token)

    assert len(channel.tried) == 1
    assert states(store) == {NotificationState.SENT: 1}


def test_notification_of_a_channel_that_is_gone_stays_pending(
    store: Store, deliverer: Deliverer
) -> None:
    make_pending(store, recipients=[Recipient("pigeon", "roof")])

    deliverer.deliver_due(take_worker_lease(store))

    [notification] = notifications(store)
    assert (notification.state, notification.outcome) == (
        NotificationState.PENDING,
        "no channel pigeon is configured; see [channels]",
    )


@pytest.mark.parametrize("trouble", [DEFERRED, SILENT])
@pytest.mark.parametrize("days", [7, -7])
def test_clock_that_was_set_wrong_does_not_strand_what_was_deferred_meanwhile(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    trouble: DeliveryError,
    days: int,
) -> None:
    make_pending(store)
    token = take_worker_lease(store)
    fake_clock.set_clock(timedelta(days=days))
    channel.errors[ONCALL.address] = trouble
    deliverer.deliver_due(token)
    channel.errors.clear()
    fake_clock.set_clock(-timedelta(days=days))

    too_early = deliverer.deliver_due(token)
    fake_clock.wait(RetryRule().first_wait)

    assert too_early == Counter()
    assert deliverer.deliver_due(token) == Counter({DeliveryResult.SENT: 1})


def test_worker_that_lost_its_lease_sends_nothing_of_what_it_claimed(
    store: Store, fake_clock: FakeClock
) -> None:
    make_pending(store, 5, [ONCALL, OTHERS])
    channel = RecordingChannel(ONCALL.address)
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, HASTY)
    lost = threading.Event()
    deliverer.deliver_due(take_worker_lease(store), lambda: not lost.is_set())
    sent = len(channel.taken)

    lost.set()
    channel.let_go.set()
    deliverer.finish(timedelta(seconds=PATIENCE))
    deliverer.deliver_due(0, lambda: not lost.is_set())

    assert len(channel.taken) == sent
    assert [each.attempts for each in notifications(store) if each.recipient == ONCALL] == [0] * 5


def test_messages_of_a_recovered_address_go_at_once_in_the_order_of_events(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    for number in range(1, 4):
        reject(store, number)
        reject_again(store, number)
        expand_outbox(store, [ONCALL], fake_clock.now, alone)
    token = take_worker_lease(store)
    channel.errors[ONCALL.address] = SILENT
    for _ in range(5):
        deliverer.deliver_due(token)
        fake_clock.wait(LEASE / 2)
        with store.write() as connection:
            renew(connection, "worker", token, LEASE)
    channel.errors.clear()
    fake_clock.wait(RetryRule().longest_pause)

    deliverer.deliver_due(take_worker_lease(store))

    places = {each.message_id: place for place, each in enumerate(channel.taken)}
    assert states(store).keys() == {NotificationState.SENT}
    assert sum(each.member_count for each in notifications(store)) == 6
    for changed in (each for each in channel.taken if each.in_reply_to):
        assert places[changed.in_reply_to] < places[changed.message_id]


def reject_again(store: Store, number: int) -> None:
    again = a_transition(number, transition_id=an_id(100 + number), before=State.REJECTED)
    reject(store, number, again, nonce=6)


def test_message_that_cannot_be_written_stays_pending(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)

    def stumble(notification: Notification) -> Message:
        raise KeyError(notification.notification_id)

    deliverer = Deliverer(
        store, Sending({"mail": channel}, stumble), fake_clock.now, fake_clock.elapsed, PATIENT
    )
    deliverer.deliver_due(take_worker_lease(store))

    [notification] = notifications(store)
    assert (notification.state, notification.outcome) == (
        NotificationState.PENDING,
        "an unexpected error; see the log",
    )


def test_memory_holds_no_more_notifications_than_allowed(
    store: Store, fake_clock: FakeClock
) -> None:
    make_pending(store, 5)
    channel = RecordingChannel(ONCALL.address)
    policy = replace(HASTY, limits=QueueLimits(per_recipient=2))
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, policy)

    deliverer.deliver_due(take_worker_lease(store))

    assert [each.claimed_by is None for each in notifications(store)].count(False) == 2
    channel.let_go.set()
