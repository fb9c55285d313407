"""When a node is asked for receipts, as it is held in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.cadence import CadencePolicy, calls_between, next_check
from dashboard.domain.tracking.inclusion import SETTLES_AFTER
from dashboard.poll.inclusion import ReceiptQueue, ScheduledHash, ScheduledHashes
from tests.builders import a_hash, seconds

POLICY = CadencePolicy(shortest_interval=seconds(2))
END = POLICY.last_age
NOW = timedelta(days=30)


def a_schedule(*watched: ScheduledHash, largest: int = 1000) -> ReceiptQueue:
    schedule = ReceiptQueue(POLICY, largest)
    schedule.add(watched, NOW)
    return schedule


def due_at(schedule: ReceiptQueue, now: timedelta, limit: int = 10_000) -> list[TxHash]:
    return [each for cohort in schedule.take_due(now, limit) for each in cohort.hashes]


def new(number: int, born: timedelta = NOW) -> ScheduledHash:
    return ScheduledHash(a_hash(number), born)


def test_hash_that_was_never_asked_about_is_due_at_once() -> None:
    assert due_at(a_schedule(new(1)), NOW) == [a_hash(1)]


def test_hashes_tracked_together_are_one_cohort() -> None:
    schedule = a_schedule(*(new(number, NOW + seconds(number / 1000)) for number in range(5)))

    assert len(schedule.take_due(NOW, 10_000)) == 1


def test_question_is_put_again_at_its_pace() -> None:
    schedule = a_schedule(new(1))
    [cohort] = schedule.take_due(NOW, 10)

    schedule.reschedule(cohort, NOW, is_answered=True)

    assert due_at(schedule, NOW + seconds(1.9)) == []
    assert due_at(schedule, NOW + seconds(2)) == [a_hash(1)]


def test_question_is_put_again_later_if_credits_are_short() -> None:
    schedule = a_schedule()
    schedule.stretch = 50.0
    asked = ScheduledHash(a_hash(1), NOW, NOW)
    old = ScheduledHash(a_hash(2), NOW - END / 2, NOW)
    schedule.add([asked, old], NOW)

    assert due_at(schedule, NOW + seconds(99)) == []
    assert due_at(schedule, NOW + seconds(100)) == [a_hash(1)]
    assert due_at(schedule, NOW + timedelta(hours=23)) == []
    assert due_at(schedule, NOW + timedelta(days=1)) == [a_hash(2)]


def test_calls_of_the_next_hour_are_counted_once_for_what_only_settles() -> None:
    settling = ScheduledHash(a_hash(1), NOW, NOW, settles=NOW + SETTLES_AFTER)
    open_ = [ScheduledHash(a_hash(number), NOW, NOW) for number in range(2, 4)]
    schedule, hour = a_schedule(settling, *open_), timedelta(hours=1)

    calls = 3600 * schedule.calls_per_second(NOW, hour)

    assert calls == pytest.approx(1 + 2 * calls_between(timedelta(), hour, POLICY))
    schedule.clear()
    assert len(schedule) == 0


def test_failed_question_is_put_again_within_a_minute() -> None:
    schedule = ReceiptQueue(POLICY)
    old = ScheduledHashes(NOW - timedelta(days=6), [a_hash(1)])

    schedule.reschedule(old, NOW, is_answered=False)

    assert due_at(schedule, NOW + timedelta(minutes=1)) == [a_hash(1)]


def test_restart_asks_when_the_next_question_would_have_come() -> None:
    born, asked = NOW - seconds(10_000), NOW - seconds(100)
    schedule = a_schedule(ScheduledHash(a_hash(1), born, asked))

    wait = next_check(seconds(9_900), POLICY)
    assert wait is not None

    assert due_at(schedule, asked + wait - seconds(1)) == []
    assert due_at(schedule, asked + wait) == [a_hash(1)]


def test_restart_leaves_out_what_had_its_last_question() -> None:
    born = NOW - timedelta(days=20)
    schedule = a_schedule(ScheduledHash(a_hash(1), born, born + END))

    assert len(schedule) == 0


@pytest.mark.parametrize("jump", [timedelta(days=-7), timedelta(days=7)])
def test_times_stored_by_a_wrong_clock_strand_nothing(jump: timedelta) -> None:
    born, asked = NOW - seconds(60) + jump, NOW - seconds(1) + jump
    schedule = a_schedule(ScheduledHash(a_hash(1), born, asked))

    assert due_at(schedule, NOW + timedelta(hours=3)) == [a_hash(1)]


def test_most_overdue_hashes_are_taken_first_and_in_portions() -> None:
    schedule = a_schedule(*(new(number) for number in range(5)), largest=2)

    first, second = due_at(schedule, NOW, limit=3), due_at(schedule, NOW)

    assert (len(first), len(second)) == (4, 1)
