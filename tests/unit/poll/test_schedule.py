"""The schedule in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.condition import State
from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.poll.cadence import CadencePolicy
from dashboard.poll.schedule import Cohort, Schedule, Watched
from tests.askers import SILENCE
from tests.builders import a_hash, a_record, seconds

POLICY = CadencePolicy(shortest_interval=seconds(2))
END = POLICY.last_age
NOW = timedelta(days=30)


def a_schedule(*watched: Watched, largest: int = 1000) -> Schedule:
    schedule = Schedule(POLICY, largest)
    schedule.add(watched, NOW)
    return schedule


def due_at(schedule: Schedule, now: timedelta, limit: int = 10_000) -> list[TxHash]:
    return [each for cohort in schedule.take_due(now, limit) for each in cohort.hashes]


def new(number: int, born: timedelta = NOW) -> Watched:
    return Watched(a_hash(number), born)


def answered(*numbers: int) -> list[ExclusionAnswer]:
    return [ExclusionAnswer(a_hash(number)) for number in numbers]


def test_hash_that_was_never_asked_about_is_due_at_once() -> None:
    assert due_at(a_schedule(new(1)), NOW) == [a_hash(1)]


def test_old_hash_that_was_never_asked_about_is_asked_once() -> None:
    schedule = a_schedule(new(1, NOW - timedelta(days=20)))
    [cohort] = schedule.take_due(NOW, 10)

    schedule.reschedule(cohort, answered(1), NOW)

    assert len(schedule) == 0


def test_hashes_tracked_together_are_one_cohort() -> None:
    schedule = a_schedule(*(new(number, NOW + seconds(number / 1000)) for number in range(5)))

    assert len(schedule.take_due(NOW, 10_000)) == 1


def test_answer_of_null_is_asked_again_at_its_pace() -> None:
    schedule = a_schedule(new(1))
    [cohort] = schedule.take_due(NOW, 10)

    schedule.reschedule(cohort, answered(1), NOW)

    assert due_at(schedule, NOW + seconds(1.9)) == []
    assert due_at(schedule, NOW + seconds(2)) == [a_hash(1)]


def test_rejected_hash_is_asked_again_more_sparsely() -> None:
    age = timedelta(hours=1)
    schedule = a_schedule(new(1), new(2))
    [cohort] = schedule.take_due(NOW, 10)

    answers = [ExclusionAnswer(a_hash(1), a_record()), ExclusionAnswer(a_hash(2))]
    schedule.reschedule(cohort, answers, NOW + age)

    assert due_at(schedule, NOW + age + timedelta(minutes=20)) == [a_hash(2)]
    assert due_at(schedule, NOW + END) == [a_hash(1)]


def test_rejection_is_remembered_through_a_failure() -> None:
    schedule = a_schedule(new(1))
    rejected = Cohort(NOW, State.REJECTED, [a_hash(1)])

    schedule.reschedule(rejected, [ExclusionAnswer(a_hash(1), failure=SILENCE)], NOW + seconds(9))

    cohorts = schedule.take_due(NOW + END, 10)
    assert [cohort.state for cohort in cohorts] == [None, State.REJECTED]


def test_failed_question_is_put_again_within_a_minute() -> None:
    schedule = Schedule(POLICY)
    old = Cohort(NOW - timedelta(days=6), State.UNREPORTED, [a_hash(1)])

    schedule.reschedule(old, [ExclusionAnswer(a_hash(1), failure=SILENCE)], NOW)

    assert due_at(schedule, NOW + timedelta(minutes=1)) == [a_hash(1)]


def test_nothing_is_asked_after_the_last_question() -> None:
    schedule = a_schedule(new(1))
    [cohort] = schedule.take_due(NOW, 10)

    schedule.reschedule(cohort, answered(1), NOW + END)

    assert len(schedule) == 0


def test_restart_asks_when_the_next_question_would_have_come() -> None:
    born, asked = NOW - seconds(10_000), NOW - seconds(100)
    schedule = a_schedule(Watched(a_hash(1), born, asked, State.UNREPORTED))

    assert due_at(schedule, NOW + seconds(390)) == []
    assert due_at(schedule, NOW + seconds(400)) == [a_hash(1)]


def test_restart_asks_at_once_what_fell_due_while_down() -> None:
    born, asked = NOW - timedelta(days=8), NOW - timedelta(days=3)
    schedule = a_schedule(Watched(a_hash(1), born, asked, State.UNREPORTED))

    assert due_at(schedule, NOW) == [a_hash(1)]


def test_restart_leaves_out_what_had_its_last_question() -> None:
    born = NOW - timedelta(days=20)
    schedule = a_schedule(Watched(a_hash(1), born, born + END, State.UNREPORTED))

    assert len(schedule) == 0


def test_restart_puts_an_unanswered_question_again_within_a_minute() -> None:
    born, asked = NOW - timedelta(days=6), NOW - seconds(20)
    schedule = a_schedule(
        Watched(a_hash(1), born, asked, State.UNREPORTED, is_answered=False),
        Watched(a_hash(2), born, asked, State.UNREPORTED),
    )

    assert due_at(schedule, NOW + seconds(39)) == []
    assert due_at(schedule, NOW + seconds(40)) == [a_hash(1)]


def test_restart_puts_a_last_question_again_that_was_not_answered() -> None:
    asked = NOW - timedelta(minutes=2)
    schedule = a_schedule(
        Watched(a_hash(1), asked - END, asked, State.UNREPORTED, is_answered=False)
    )

    assert due_at(schedule, NOW + timedelta(minutes=57)) == []
    assert due_at(schedule, NOW + timedelta(minutes=58)) == [a_hash(1)]


@pytest.mark.parametrize("jump", [timedelta(days=-7), timedelta(days=7)])
def test_times_stored_by_a_wrong_clock_strand_nothing(jump: timedelta) -> None:
    born, asked = NOW - seconds(60) + jump, NOW - seconds(1) + jump
    schedule = a_schedule(Watched(a_hash(1), born, asked, State.UNREPORTED))

    assert due_at(schedule, NOW + timedelta(hours=3)) == [a_hash(1)]


def test_most_overdue_hashes_are_taken_first_and_in_portions() -> None:
    schedule = a_schedule(*(new(number) for number in range(5)), largest=2)

    first, second = due_at(schedule, NOW, limit=3), due_at(schedule, NOW)

    assert (len(first), len(second)) == (4, 1)


def test_cohort_that_was_put_back_is_as_it_was() -> None:
    schedule = a_schedule(new(1))
    cohorts = schedule.take_due(NOW, 10)

    schedule.put_back(cohorts, NOW + seconds(1))

    assert schedule.take_due(NOW + seconds(1), 10) == cohorts
