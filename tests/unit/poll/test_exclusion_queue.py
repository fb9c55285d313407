"""When a network is asked about each cohort, as it is held in memory."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.domain.health.observation import FailureKind
from dashboard.domain.tracking.cadence import CadencePolicy, next_check
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.meetings import ScheduledCohort
from dashboard.store.tracking.cohorts import PollResult
from tests.builders import seconds

POLICY = CadencePolicy()
END = POLICY.last_age
NOW = timedelta(days=30)


def due_at(schedule: ExclusionQueue, now: timedelta, limit: int = 10_000) -> list[int]:
    """Take what is due then, and name the cohorts."""
    return [each.cohort_id for each in schedule.take_due(now, limit)]


def after(cohort: ScheduledCohort, asked: timedelta, *, is_answered: bool = True) -> ExclusionQueue:
    """Return the schedule `NOW` with one cohort that was asked about without a record."""
    schedule = ExclusionQueue(POLICY)
    failure = None if is_answered else FailureKind.UNAVAILABLE
    schedule.reschedule(cohort, PollResult(failure, is_rejected=False), asked, NOW)
    return schedule


def test_cohort_that_was_never_asked_about_is_due_at_once() -> None:
    schedule = ExclusionQueue(POLICY)
    schedule.put(ScheduledCohort(1, NOW - timedelta(days=20), 5), NOW)

    assert due_at(schedule, NOW) == [1]


@pytest.mark.parametrize("born", [NOW, timedelta(), timedelta(days=-9, milliseconds=7)])
def test_cohort_comes_back_as_it_was_entered(born: timedelta) -> None:
    cohort = ScheduledCohort(2**40, born, 1000, is_included=True, is_rejected=True)
    schedule = ExclusionQueue(POLICY)
    schedule.put_back([cohort], NOW)

    assert schedule.take_due(NOW, 1) == [cohort]


def test_rejected_cohort_is_asked_about_more_sparsely() -> None:
    born, schedule = NOW - timedelta(hours=1), ExclusionQueue(POLICY)
    for cohort_id, is_rejected in ((1, True), (2, False)):
        last = PollResult(None, is_rejected)
        schedule.reschedule(ScheduledCohort(cohort_id, born, 1), last, NOW, NOW)

    assert due_at(schedule, NOW + timedelta(minutes=20)) == [2]
    assert due_at(schedule, NOW + END) == [1]


def test_nothing_is_asked_after_the_last_question() -> None:
    assert len(after(ScheduledCohort(1, NOW - END, 1), NOW)) == 0


def test_restart_asks_when_the_next_question_would_have_come() -> None:
    schedule = after(ScheduledCohort(1, NOW - seconds(10_000), 1), NOW - seconds(100))
    wait = next_check(seconds(9_900), POLICY)
    assert wait is not None

    assert due_at(schedule, NOW - seconds(101) + wait) == []
    assert due_at(schedule, NOW - seconds(100) + wait) == [1]


def test_restart_asks_at_once_what_fell_due_while_down() -> None:
    schedule = after(ScheduledCohort(1, NOW - timedelta(days=8), 1), NOW - timedelta(days=3))

    assert due_at(schedule, NOW) == [1]


def test_restart_puts_an_unanswered_question_again_within_15_seconds() -> None:
    schedule = after(
        ScheduledCohort(1, NOW - timedelta(days=6), 1), NOW - seconds(5), is_answered=False
    )

    assert due_at(schedule, NOW + seconds(9)) == []
    assert due_at(schedule, NOW + seconds(10)) == [1]


@pytest.mark.parametrize("jump", [timedelta(days=-7), timedelta(days=7)])
def test_times_stored_by_a_wrong_clock_strand_nothing(jump: timedelta) -> None:
    schedule = after(ScheduledCohort(1, NOW - seconds(60) + jump, 1), NOW - seconds(1) + jump)

    assert due_at(schedule, NOW + timedelta(hours=3)) == [1]


def test_most_overdue_cohorts_are_taken_first_and_in_portions() -> None:
    schedule = ExclusionQueue(POLICY)
    for cohort_id in (3, 1, 2):
        schedule.put(ScheduledCohort(cohort_id, NOW, 600), NOW + seconds(cohort_id))

    assert due_at(schedule, NOW + END, limit=1000) == [1, 2]
    assert due_at(schedule, NOW + END, limit=1) == [3]


def test_cohort_of_one_hash_takes_less_than_its_hash_would() -> None:
    many = 10_000
    tracemalloc.start()
    schedule = ExclusionQueue(POLICY)
    for cohort_id in range(many):
        schedule.put(ScheduledCohort(cohort_id, NOW, 1), NOW)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken / many <= 65


def test_budget_counts_inclusion_and_ages_that_began_anew() -> None:
    day, born = timedelta(days=1), NOW - timedelta(days=2)
    counts = []
    for is_included, is_renewed in ((False, False), (True, False), (False, True), (True, True)):
        schedule = ExclusionQueue(POLICY)
        schedule.put(ScheduledCohort(1, born, 100, is_included=is_included), NOW)
        if is_renewed:
            schedule.renew(1, NOW - seconds(60), NOW)
        counts.append(schedule.calls_per_second(NOW, day) * day.total_seconds() / 100)

    usual, included, renewed, both = counts
    assert included == both <= 1 < usual < renewed
    assert renewed > 30


def test_budget_counts_fewer_questions_about_what_is_rejected() -> None:
    def planned(*, is_rejected: bool) -> float:
        schedule = ExclusionQueue(POLICY)
        cohort = ScheduledCohort(1, NOW - timedelta(days=1), 100)
        schedule.reschedule(cohort, PollResult(None, is_rejected), NOW, NOW)
        return schedule.calls_per_second(NOW, timedelta(days=2))

    assert 0 < planned(is_rejected=True) <= planned(is_rejected=False) / 8


def test_age_that_began_anew_counts_for_an_hour_alone() -> None:
    schedule = ExclusionQueue(POLICY)
    cohort = ScheduledCohort(1, NOW - timedelta(days=2), 1)
    schedule.renew(1, NOW, NOW)

    for later in (timedelta(), timedelta(minutes=59)):
        assert schedule.renewed_at(cohort, NOW + later) == NOW
    assert schedule.renewed_at(replace(cohort, is_group=True), NOW) is None
    assert schedule.renewed_at(cohort, NOW + timedelta(hours=1)) is None
    schedule.renew(2, NOW + timedelta(hours=2), NOW + timedelta(hours=2))
    schedule.renew(3, NOW, NOW + timedelta(hours=2))
    assert schedule.renewed_at(replace(cohort, cohort_id=3), NOW) is None
