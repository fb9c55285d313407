"""When a transaction is asked about again, what that costs, and how late news is seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.tracking.cadence import (
    FOLLOW_UP_CADENCE,
    MOST_RENEWALS,
    RENEWED_FOR,
    SELDOM,
    CadencePolicy,
    DelayPart,
    calls_between,
    calls_per_transaction,
    check_ages,
    expected_delay,
    next_check,
    next_try,
)
from tests.builders import seconds

POLICY = CadencePolicy()
END = POLICY.last_age
AGES = st.timedeltas(timedelta(days=-30), timedelta(days=30))
POLICIES = st.builds(CadencePolicy, st.integers(10, 10_000))


def waits(ages: Sequence[timedelta]) -> list[timedelta]:
    return [later - earlier for earlier, later in pairwise(ages)]


@given(POLICIES)
def test_silent_transaction_takes_the_calls_that_are_set(policy: CadencePolicy) -> None:
    assert calls_per_transaction(policy) == policy.calls


@given(policy=POLICIES, is_rejected=st.booleans(), included_after=st.none() | AGES)
def test_last_question_falls_on_the_end_of_the_window_once(
    *, policy: CadencePolicy, is_rejected: bool, included_after: timedelta | None
) -> None:
    ages = check_ages(policy, is_rejected=is_rejected, included_after=included_after)
    *_, before, last = ages

    assert before < last == END == timedelta(days=7, hours=2)
    assert next_check(last, policy, is_rejected=is_rejected) is None


@given(POLICIES)
def test_intervals_never_shrink_before_the_last_one(policy: CadencePolicy) -> None:
    found = waits(check_ages(policy))[:-1]

    assert found == sorted(found)


@given(age=AGES, is_rejected=st.booleans(), is_included=st.booleans())
def test_question_comes_in_the_window(
    *, age: timedelta, is_rejected: bool, is_included: bool
) -> None:
    wait = next_check(age, POLICY, is_rejected=is_rejected, is_included=is_included)

    if wait is None:
        assert age >= END
    else:
        assert timedelta() < wait <= END - max(age, timedelta())


@given(age=AGES, renewed=AGES)
def test_age_that_began_anew_counts_for_an_hour_and_moves_no_end(
    age: timedelta, renewed: timedelta
) -> None:
    usual = next_check(age, POLICY)
    found = next_check(age, POLICY, renewed=renewed)

    if usual is None or renewed >= RENEWED_FOR:
        assert found == usual
    else:
        assert found is not None
        younger = next_check(min(age, renewed), POLICY)
        assert younger is not None
        assert found <= usual
        assert found <= max(younger, END - max(age, timedelta()))
    assert next_check(age, POLICY, renewed=renewed, is_included=True) == next_check(
        age, POLICY, is_included=True
    )


def test_program_that_looks_all_the_time_takes_about_twice_the_calls() -> None:
    renewals = MOST_RENEWALS * calls_between(timedelta(), RENEWED_FOR, POLICY)

    assert renewals == pytest.approx(POLICY.calls, rel=0.1)


def test_intervals_begin_at_two_seconds_and_end_at_three_hours() -> None:
    found = waits(check_ages(POLICY))

    assert seconds(1) < found[0] < seconds(2)
    assert timedelta(hours=2) < found[-1] < timedelta(hours=4)


def test_late_report_is_seen_within_minutes() -> None:
    assert calls_between(timedelta(minutes=110), timedelta(hours=2), POLICY) >= 1


def test_rejected_transaction_is_asked_more_sparsely_and_to_the_end() -> None:
    assert len(check_ages(POLICY, is_rejected=True)) == pytest.approx(220 / 8, abs=1)


def test_included_transaction_takes_a_handful_of_calls() -> None:
    ages = check_ages(POLICY, included_after=seconds(10))

    later = [each for each in ages if each > seconds(30)]
    assert later[0] == timedelta(hours=2)
    assert (len(ages), len(later)) == (9, 4)


def test_transaction_first_seen_after_line_limits_ended_is_asked_about_daily() -> None:
    assert set(waits(check_ages(SELDOM))[:-1]) == {timedelta(days=1)}
    assert calls_per_transaction(SELDOM) == 8


def test_receipts_are_asked_for_at_most_each_quarter_of_a_minute() -> None:
    found = check_ages(FOLLOW_UP_CADENCE)

    assert min(waits(found)) == seconds(15)
    assert 100 < len(found) < 155


def test_clock_set_back_counts_as_age_zero() -> None:
    assert next_check(timedelta(days=-7), POLICY) == next_check(timedelta(), POLICY)


@given(AGES)
def test_unanswered_question_is_put_again_within_a_minute_or_an_hour_at_the_end(
    age: timedelta,
) -> None:
    wait = next_try(age, POLICY)

    assert timedelta() < wait <= (timedelta(minutes=1) if age < END else timedelta(hours=1))


def test_expected_delay_is_that_of_every_record_weighed() -> None:
    policy = CadencePolicy(calls=2, last_age=seconds(100))
    law = (DelayPart(0.995, 0, 100, 0), DelayPart(0.005, 1, 100, 1.5))

    found = expected_delay(policy, law)

    late = (100 - 10) * 0.005  # between 1 s and 100 s, age^-1.5 has a mean of 10 s
    assert found.mean / seconds(1) == pytest.approx(50 * 0.995 + late, rel=0.01)
    assert found.p99 / seconds(1) == pytest.approx(99, abs=0.5)


def test_more_calls_find_records_sooner_in_proportion() -> None:
    few, many = (expected_delay(CadencePolicy(calls)) for calls in (110, 440))

    assert few.mean / many.mean == pytest.approx(4, rel=0.1)
    assert few.p99 > many.p99
