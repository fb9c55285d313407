"""When cohorts of nearly one age meet, how large their groups become, and what that costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.domain.tracking.cadence import CadencePolicy, calls_per_transaction
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.meetings import ScheduledCohort, gathered, one_group
from dashboard.store.tracking.cohorts import PollResult
from tests.builders import seconds

POLICY = CadencePolicy()
NULL = PollResult(None, is_rejected=False)
EPOCH = timedelta()
APART = seconds(5)
MANY = 400


def sizes(cohorts: Iterable[ScheduledCohort], now: timedelta) -> list[int]:
    """Return how many are together afterwards, the most first."""
    return sorted(map(len, gathered(cohorts, now, EPOCH)), reverse=True)


def let_them_meet(policy: CadencePolicy) -> tuple[Counter[int], int]:
    """Let hashes come one by one, and be asked until the end; return the calls and rows of each.

    Calls are told by hash, rows of all after the first null.
    """
    schedule, calls, rows = ExclusionQueue(policy), Counter[int](), 0
    members = {number: [number] for number in range(MANY)}
    for number in range(MANY):
        schedule.put(ScheduledCohort(number, number * APART, 1), number * APART)
    now = EPOCH
    while len(schedule):
        now += seconds(1)
        asked = schedule.take_due(now, 5000)
        for some in gathered(asked, now, EPOCH):
            first, *others = (each.cohort_id for each in some)
            for each in (first, *others):
                calls.update(members[each])
            rows += len(some)
            for each in others:
                members[first] += members.pop(each)
            together = some[0] if not others else one_group(first, some)
            schedule.reschedule(together, NULL, now, now)
    return calls, rows


def test_hashes_that_come_one_by_one_are_asked_together_for_few_more_calls() -> None:
    calls, rows = let_them_meet(POLICY)

    alone = calls_per_transaction(POLICY)
    assert set(calls) == set(range(MANY))
    assert alone - 2 <= min(calls.values())
    assert sum(calls.values()) <= MANY * alone * 1.04
    assert rows < MANY * alone / 5


def test_what_is_asked_seldom_attends_no_meeting() -> None:
    policy = replace(POLICY, calls=6)

    calls, _ = let_them_meet(policy)

    assert sum(calls.values()) <= MANY * calls_per_transaction(policy) * 1.01


def test_those_of_nearly_one_age_are_one_group_once_they_have_met() -> None:
    cohorts = [ScheduledCohort(number, seconds(number), 1) for number in range(4)]

    assert sizes(cohorts, seconds(30)) == [1, 1, 1, 1]
    assert sizes(cohorts, seconds(40)) == [4]
    older = ScheduledCohort(9, seconds(-1), 1)
    assert sizes([*cohorts, older], seconds(40)) == [4, 1]
    assert sizes([*cohorts, older], seconds(600)) == [4, 1]


@pytest.mark.parametrize("hours", [12, 160])
def test_group_is_never_older_than_its_youngest_by_more_than_an_eighth_of_its_age(
    hours: int,
) -> None:
    now = timedelta(hours=hours)
    cohorts = [ScheduledCohort(each, timedelta(minutes=each), 1) for each in range(60 * 24 * 6)]

    for some in gathered((each for each in cohorts if each.born < now), now, EPOCH):
        born = [each.born for each in some]
        assert max(born) - min(born) <= min((now - max(born)) / 8, seconds(4200))


def test_group_has_no_more_hashes_than_a_cohort_may_have() -> None:
    cohorts = [ScheduledCohort(number, EPOCH, size) for number, size in enumerate((600, 300, 300))]
    full = ScheduledCohort(9, EPOCH, 1000)

    together = list(gathered([*cohorts, full], seconds(3600), EPOCH))

    assert sorted(sum(each.size for each in some) for some in together) == [300, 900, 1000]


def test_group_is_as_young_as_its_youngest_and_before_the_end_of_limits_if_one_is() -> None:
    young = ScheduledCohort(1, seconds(9), 2, is_after_limits=True)

    group = one_group(7, [young, ScheduledCohort(2, seconds(5), 3)])

    assert group == ScheduledCohort(7, seconds(9), 5, is_after_limits=False, is_group=True)
