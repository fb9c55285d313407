"""When a message or an address is tried again, and when a message is given up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.alert.delivery_queue import FAILURES_BEFORE_PAUSE, RetryRule, RetryTimes, is_over
from dashboard.domain.alerts.notification import Notification
from tests.builders import A_MOMENT, a_notification, an_id, seconds
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS

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


def test_pause_ends_by_the_time_that_nobody_sets(waits: RetryTimes, fake_clock: FakeClock) -> None:
    waits.failed(tried(0), is_blocked=True)
    fake_clock.set_clock(timedelta(days=-7))

    fake_clock.wait(RULE.first_wait)

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


def test_message_that_is_deferred_among_others_that_arrive_rests_by_itself(
    waits: RetryTimes, fake_clock: FakeClock
) -> None:
    waits.succeeded(tried(0, number=2))

    assert waits.failed(tried(0), is_blocked=False) == RULE.first_wait
    assert not waits.is_paused(ONCALL)
    fake_clock.wait(RULE.first_wait)
    assert waits.waiting(ONCALL) == []


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
    waits.failed(tried(1, number=3), is_blocked=True)

    assert rested
    assert waits.is_paused(ONCALL), "the second one shows that it is the server"


def test_notification_is_given_up_after_seven_days() -> None:
    assert is_over(tried(100), A_MOMENT + timedelta(days=7), RULE)


def test_notification_is_tried_until_seven_days_are_over() -> None:
    assert not is_over(tried(100), A_MOMENT + timedelta(days=7) - seconds(1), RULE)


def test_clock_that_jumps_a_week_does_not_end_what_is_pending() -> None:
    assert not is_over(tried(1), A_MOMENT + timedelta(days=7), RULE)
