"""Whose turn it is: the queue of what is due, and when it is tried again."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.alert.deliver import Deliverer
from dashboard.alert.delivery_queue import DeliveryQueue, QueueLimits
from dashboard.alert.notify import expand_outbox
from dashboard.alert.retries import FAILURES_BEFORE_PAUSE, RetryRule, RetryTimes, is_dead
from dashboard.domain.alerts.notification import (
    DeliveryResult,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.errors import DeliveryBlocked, DeliveryDeferred
from dashboard.store.alerts.notification_search import resend
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT, a_notification, an_id, seconds
from tests.delivery_checks import (
    PATIENT,
    make_pending,
    notifications,
    reject,
    states,
    take_lease,
)
from tests.fake_clock import FakeClock
from tests.one_by_one import deliveries_of, recent_notifications
from tests.recording_channel import ONCALL, ONCALL_ALONE, OTHERS, RecordingChannel
from tests.routes import alone

DEFERRED = DeliveryDeferred("451 try again later")
SILENT = DeliveryBlocked("did not answer within 20 s")


def attempts_of(store: Store) -> list[int]:
    """Return how often each notification was tried; each attempt that is counted has its row."""
    with store.read() as connection:
        found = recent_notifications(connection, 100)
        for each in found:
            assert len(deliveries_of(connection, each.notification_id)) == each.attempts
    return sorted(each.attempts for each in found)


def test_silent_recipient_is_tried_once_a_round_each_time_with_another_message(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store, 5)
    channel.errors[ONCALL.address] = SILENT

    results = deliverer.deliver_due(take_lease(store))
    first = attempts_of(store)
    [next_at] = [each.next_attempt_at for each in notifications(store) if each.attempts]
    assert next_at == A_MOMENT + RetryRule().first_wait
    fake_clock.wait(RetryRule().first_wait)
    deliverer.deliver_due(take_lease(store))

    assert results == Counter({DeliveryResult.DEFERRED: 1})
    assert first == [0, 0, 0, 0, 1]
    assert len({headers.message_id for headers in channel.tried}) == len(channel.tried) == 2
    assert attempts_of(store) == [1, 1]  # the other message is of all that waited meanwhile


def test_message_that_silences_the_server_goes_last_the_next_time(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store, 5)
    channel.errors[ONCALL.address] = SILENT
    deliverer.deliver_due(take_lease(store))
    [poison] = channel.tried
    channel.errors = {poison.message_id: SILENT}

    fake_clock.wait(RetryRule().first_wait)
    deliverer.deliver_due(take_lease(store))

    assert states(store) == {NotificationState.SENT: 1, NotificationState.PENDING: 1}
    assert channel.tried[-1] == poison


def let_three_of_five_fail(store: Store, deliverer: Deliverer, channel: RecordingChannel) -> None:
    make_pending(store, 5)
    found = sorted(notifications(store), key=lambda each: each.transition.transition_id)
    for each in found[::2]:
        channel.errors[each.message_id] = DEFERRED
    deliverer.deliver_due(take_lease(store))


def test_three_messages_that_fail_again_and_again_hold_up_no_new_one(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    let_three_of_five_fail(store, deliverer, channel)
    fake_clock.wait(RetryRule().first_wait)
    deliverer.deliver_due(take_lease(store))
    assert attempts_of(store) == [1, 1, 2, 2, 2]
    reject(store, 6)
    expand_outbox(store, ONCALL_ALONE, fake_clock.now, alone)

    results = deliverer.deliver_due(take_lease(store))

    assert results == Counter({DeliveryResult.SENT: 1})


def test_messages_that_fail_alone_hold_up_no_new_one_after_a_restart(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    let_three_of_five_fail(store, deliverer, channel)
    fake_clock.wait(RetryRule().first_wait)
    reject(store, 6)
    expand_outbox(store, ONCALL_ALONE, fake_clock.now, alone)
    again = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, PATIENT)

    results = again.deliver_due(take_lease(store))

    assert results[DeliveryResult.SENT] == 1


def test_message_that_is_deferred_for_its_own_sake_delays_no_other(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 5)
    channel.errors[notifications(store)[0].message_id] = DEFERRED

    deliverer.deliver_due(take_lease(store))

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
        deliverer.deliver_due(take_lease(store))
        fake_clock.wait(timedelta(hours=12))

    assert set(attempts_of(store)) == {4}


RULE = RetryRule()


@pytest.fixture
def waits(fake_clock: FakeClock) -> RetryTimes:
    return RetryTimes(RULE, fake_clock.elapsed)


def tried(attempts: int, number: int = 1) -> Notification:
    return a_notification(notification_id=an_id(number), recipient=ONCALL, attempts=attempts)


@pytest.mark.parametrize(
    ("attempts", "wait"), [(1, 30), (2, 60), (7, 1920), (8, 3600), (9, 3600), (10_000, 3600)]
)
def test_wait_of_a_message_that_is_the_cause_doubles_up_to_an_hour(
    waits: RetryTimes, attempts: int, wait: int
) -> None:
    waits.succeeded(tried(0, number=2))

    assert waits.failed(tried(attempts), is_blocked=False) == seconds(wait)
    assert waits.waiting(ONCALL) == [tried(0).notification_id]
    assert not waits.is_paused(ONCALL)


def test_address_pauses_ever_longer_up_to_a_minute(waits: RetryTimes) -> None:
    pauses = [waits.failed(tried(each), is_blocked=True) for each in range(5)]

    assert pauses == [seconds(15), seconds(30), seconds(60), seconds(60), seconds(60)]
    assert waits.is_paused(ONCALL)
    assert not waits.is_paused(OTHERS)


@pytest.mark.parametrize(("asked", "granted"), [(5, 15), (300, 300), (100_000, 3600)])
def test_wait_that_a_server_asks_for_is_granted_up_to_an_hour(
    waits: RetryTimes, fake_clock: FakeClock, asked: int, granted: int
) -> None:
    waits.succeeded(tried(0, number=9))

    assert waits.failed(tried(1), is_blocked=True, at_least=seconds(asked)) == seconds(granted)
    fake_clock.wait(seconds(granted - 1))
    assert waits.is_paused(ONCALL)
    fake_clock.wait(seconds(1))
    assert not waits.is_paused(ONCALL)


def test_success_ends_the_pause_and_the_rest_of_all_but_those_that_are_the_cause(
    waits: RetryTimes,
) -> None:
    waits.succeeded(tried(0, number=9))
    waits.failed(tried(1, number=1), is_blocked=False)
    for number in range(2, 2 + FAILURES_BEFORE_PAUSE):
        waits.failed(tried(0, number), is_blocked=False)
    was_paused = waits.is_paused(ONCALL)

    waits.succeeded(tried(0, number=9))

    assert was_paused
    assert not waits.is_paused(ONCALL)
    assert waits.waiting(ONCALL) == [an_id(1)]


def test_messages_deferred_in_a_row_pause_their_address(waits: RetryTimes) -> None:
    for number in range(1, FAILURES_BEFORE_PAUSE):
        waits.failed(tried(0, number), is_blocked=False)
    was_paused = waits.is_paused(ONCALL)

    waits.failed(tried(0, FAILURES_BEFORE_PAUSE), is_blocked=False)

    assert (was_paused, waits.is_paused(ONCALL)) == (False, True)


def test_message_that_breaks_the_connection_where_another_just_arrived_rests_by_itself(
    waits: RetryTimes,
) -> None:
    waits.succeeded(tried(0, number=2))

    waits.failed(tried(1), is_blocked=True)
    rested = not waits.is_paused(ONCALL) and waits.waiting(ONCALL) == [an_id(1)]
    was_failing = waits.is_failing(ONCALL)
    waits.failed(tried(1, number=3), is_blocked=True)

    assert rested
    assert not was_failing
    assert waits.is_paused(ONCALL), "the second one shows that it is the server"
    assert waits.is_failing(ONCALL)
    assert not waits.is_failing(OTHERS)


@pytest.mark.parametrize(
    ("attempts", "tried_for", "is_given_up"),
    [
        (60, timedelta(days=7), True),
        (60, timedelta(days=7) - seconds(1), False),
        (59, timedelta(days=7), False),  # the clock may have jumped by a week
    ],
)
def test_notification_is_given_up_after_seven_days_of_attempts(
    attempts: int, tried_for: timedelta, *, is_given_up: bool
) -> None:
    assert is_dead(attempts, tried_for, RULE) is is_given_up


def days_until_dead(store: Store, deliverer: Deliverer, clock: FakeClock) -> int:
    """Let somebody's server be silent, tried once a day, until the message is dead."""
    for day in range(30):
        deliverer.deliver_due(take_lease(store))
        if states(store)[NotificationState.DEAD]:
            return day
        clock.wait(timedelta(days=1))
    raise AssertionError("it is tried for a month")


def test_message_that_was_held_or_is_sent_again_is_tried_for_as_long_as_any_other(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    channel.errors[ONCALL.address] = SILENT
    policy = replace(PATIENT, retry=RetryRule(fewest_attempts=2))
    deliverer = Deliverer(store, channel.sending, fake_clock.now, fake_clock.elapsed, policy)
    fake_clock.wait(timedelta(days=8))  # maintenance or quiet hours held it, or a restore

    held = days_until_dead(store, deliverer, fake_clock)
    fake_clock.wait(timedelta(days=1))
    with store.write() as connection:
        assert len(resend(connection, ONCALL.address, fake_clock.now())) == 1

    assert (held, days_until_dead(store, deliverer, fake_clock)) == (7, 7)


NOW = timedelta(hours=1)
LIMITS = QueueLimits(fast=2, slow=1, slow_after=timedelta(seconds=1), per_recipient=3)
HOLES = [Recipient("mail", f"hole{number}@example.org") for number in range(4)]


def pending(number: int, recipient: Recipient = ONCALL) -> Notification:
    return a_notification(notification_id=an_id(number), recipient=recipient)


def a_queue(*notifications: Notification) -> DeliveryQueue:
    queue = DeliveryQueue(LIMITS)
    queue.add(notifications)
    return queue


def test_recipients_have_their_turns_and_each_gets_one_notification_at_a_time() -> None:
    queue = a_queue(pending(1), pending(2), pending(3, OTHERS), pending(4, HOLES[0]))
    rooms = queue.room(ONCALL), queue.room(OTHERS), queue.room(HOLES[1])
    started = [queue.start(NOW), queue.start(NOW)]
    queue.finish(pending(1), NOW)
    started.append(queue.start(NOW))
    queue.finish(pending(3, OTHERS), NOW)
    started.append(queue.start(NOW))

    assert rooms == (1, 2, 3)
    assert started == [[pending(1), pending(3, OTHERS)], [], [pending(4, HOLES[0])], [pending(2)]]


def test_messages_that_take_long_leave_the_fast_share() -> None:
    queue = a_queue(*(pending(number, hole) for number, hole in enumerate(HOLES, 1)))
    queue.start(NOW)

    late = NOW + LIMITS.slow_after

    assert queue.start(late) == [pending(3, HOLES[2])]
    assert queue.start(late) == [], "one message is slow by right, the other keeps its place"


def test_address_that_was_slow_counts_as_slow_from_the_start() -> None:
    queue = a_queue(*(pending(number, hole) for number, hole in enumerate(HOLES[:2], 1)))
    queue.start(NOW)
    for number, hole in enumerate(HOLES[:2], 1):
        queue.finish(pending(number, hole), NOW, is_blocked=True)
    queue.add([pending(5, HOLES[0]), pending(6, HOLES[1]), pending(7), pending(8, OTHERS)])

    assert queue.start(NOW) == [pending(5, HOLES[0]), pending(7), pending(8, OTHERS)]


def test_address_that_works_again_counts_as_fast_again() -> None:
    queue = a_queue(pending(1, HOLES[0]))
    for number in (1, 2):
        queue.start(NOW)
        queue.finish(pending(number, HOLES[0]), NOW, is_blocked=number == 1)
        queue.add([pending(number + 1, HOLES[0])])
    queue.add([pending(4), pending(5, OTHERS)])

    assert queue.start(NOW) == [pending(3, HOLES[0]), pending(4)]


def test_channels_have_room_of_their_own() -> None:
    hooks = [Recipient("webhook", f"https://{number}.example") for number in range(2)]
    queue = a_queue(pending(1), pending(2, OTHERS), pending(3, hooks[0]), pending(4, hooks[1]))

    assert len(queue.start(NOW)) == 4


def test_notification_that_was_sent_is_not_sent_again_if_it_waits_too() -> None:
    queue = a_queue(pending(1))
    queue.start(NOW)
    queue.add([pending(1)])

    queue.finish(pending(1), NOW)

    assert queue.start(NOW) == []


def test_what_waits_can_be_taken_out_or_dropped_and_what_is_sent_stays() -> None:
    queue = a_queue(pending(1), pending(2), pending(3, OTHERS))

    assert queue.take_waiting(ONCALL) == [pending(1), pending(2)]
    assert queue.start(NOW) == [pending(3, OTHERS)]
    queue.add([pending(4)])
    queue.drop_waiting()
    assert queue.is_sending
    assert queue.room(ONCALL) == LIMITS.per_recipient


def large(number: int, recipient: Recipient) -> Notification:
    return replace(pending(number, recipient), member_count=500)


def test_few_large_messages_are_in_memory_at_once_and_hold_up_no_small_one() -> None:
    wide = QueueLimits(fast=8, slow=8, large_fast=1, large_slow=1)
    queue = DeliveryQueue(wide)
    queue.add(large(number, hole) for number, hole in enumerate(HOLES, 1))
    queue.add([pending(9, OTHERS), large(8, Recipient("hook", "hook"))])

    first = queue.start(NOW)
    late = queue.start(NOW + wide.slow_after)
    never = queue.start(NOW + 9 * wide.slow_after)
    queue.finish(large(1, HOLES[0]), NOW + 9 * wide.slow_after)

    assert first == [large(1, HOLES[0]), pending(9, OTHERS)]
    assert (late, never) == ([large(2, HOLES[1])], [])
    assert queue.start(NOW + 9 * wide.slow_after) == [large(3, HOLES[2])]
