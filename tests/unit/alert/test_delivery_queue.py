"""Claimed notifications in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dashboard.alert.delivery_queue import DeliveryQueue, QueueLimits
from dashboard.domain.alerts.notification import Notification, Recipient
from tests.builders import a_notification, an_id
from tests.recording_channel import ONCALL, OTHERS

NOW = timedelta(hours=1)
LANES = QueueLimits(fast=2, slow=1, slow_after=timedelta(seconds=1), per_recipient=3)
HOLES = [Recipient("mail", f"hole{number}@example.org") for number in range(4)]


def pending(number: int, recipient: Recipient = ONCALL) -> Notification:
    return a_notification(notification_id=an_id(number), recipient=recipient)


def a_queue(*notifications: Notification) -> DeliveryQueue:
    queue = DeliveryQueue(LANES)
    queue.add(notifications)
    return queue


def test_one_notification_at_a_time_travels_to_an_address() -> None:
    queue = a_queue(pending(1), pending(2), pending(3, OTHERS))

    assert queue.start(NOW) == [pending(1), pending(3, OTHERS)]
    assert queue.start(NOW) == []


def test_next_notification_travels_when_the_one_before_has_arrived() -> None:
    queue = a_queue(pending(1), pending(2))
    queue.start(NOW)

    queue.finish(pending(1), NOW)

    assert queue.start(NOW) == [pending(2)]


def test_addresses_have_their_turns() -> None:
    queue = a_queue(pending(1), pending(2), pending(3, OTHERS), pending(4, HOLES[0]))
    first = queue.start(NOW)
    queue.finish(pending(1), NOW)

    assert (first, queue.start(NOW)) == ([pending(1), pending(3, OTHERS)], [pending(4, HOLES[0])])


def test_each_address_has_room_of_its_own() -> None:
    queue = a_queue(pending(1), pending(2))

    assert (queue.room(ONCALL), queue.room(OTHERS)) == (1, 3)


def test_messages_that_take_long_leave_the_fast_lanes() -> None:
    queue = a_queue(*(pending(number, hole) for number, hole in enumerate(HOLES, 1)))
    queue.start(NOW)

    late = NOW + LANES.slow_after

    assert queue.start(late) == [pending(3, HOLES[2])]
    assert queue.start(late) == [], "one message is slow by right, the other keeps its place"


def test_address_that_was_slow_has_only_a_slow_lane() -> None:
    queue = a_queue(*(pending(number, hole) for number, hole in enumerate(HOLES[:2], 1)))
    queue.start(NOW)
    for number, hole in enumerate(HOLES[:2], 1):
        queue.finish(pending(number, hole), NOW, is_blocked=True)
    queue.add([pending(5, HOLES[0]), pending(6, HOLES[1]), pending(7), pending(8, OTHERS)])

    assert queue.start(NOW) == [pending(5, HOLES[0]), pending(7), pending(8, OTHERS)]


def test_address_that_works_again_has_a_fast_lane_again() -> None:
    queue = a_queue(pending(1, HOLES[0]))
    for number in (1, 2):
        queue.start(NOW)
        queue.finish(pending(number, HOLES[0]), NOW, is_blocked=number == 1)
        queue.add([pending(number + 1, HOLES[0])])
    queue.add([pending(4), pending(5, OTHERS)])

    assert queue.start(NOW) == [pending(3, HOLES[0]), pending(4)]


def test_channels_have_lanes_of_their_own() -> None:
    hooks = [Recipient("webhook", f"https://{number}.example") for number in range(2)]
    queue = a_queue(pending(1), pending(2, OTHERS), pending(3, hooks[0]), pending(4, hooks[1]))

    assert len(queue.start(NOW)) == 4


def test_notification_that_arrived_does_not_travel_again_where_it_waits_too() -> None:
    queue = a_queue(pending(1))
    queue.start(NOW)
    queue.add([pending(1)])

    queue.finish(pending(1), NOW)

    assert queue.start(NOW) == []


def test_what_waits_for_an_address_can_be_taken_out() -> None:
    queue = a_queue(pending(1), pending(2), pending(3, OTHERS))

    assert queue.take_waiting(ONCALL) == [pending(1), pending(2)]
    assert queue.start(NOW) == [pending(3, OTHERS)]


def test_forgetting_leaves_what_travels() -> None:
    queue = a_queue(pending(1), pending(2))
    queue.start(NOW)

    queue.drop_waiting()

    assert queue.is_sending
    assert queue.room(ONCALL) == LANES.per_recipient


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
