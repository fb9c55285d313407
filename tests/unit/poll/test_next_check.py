"""When a transaction is asked about again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.poll.cadence import CadencePolicy, next_check, next_try
from dashboard.poll.inclusion import FOLLOW_UP_CADENCE

POLICY = CadencePolicy(shortest_interval=timedelta(seconds=2))
END = POLICY.last_age
AGES = st.timedeltas(timedelta(days=-30), timedelta(days=30))


def ages_of_questions(
    policy: CadencePolicy = POLICY, *, is_rejected: bool = False
) -> Iterator[timedelta]:
    age: timedelta = timedelta()
    wait: timedelta | None = timedelta()
    while wait is not None:
        age += wait
        yield age
        wait = next_check(age, policy, is_rejected=is_rejected)


def test_interval_is_half_of_the_age_to_three_quarters() -> None:
    assert next_check(timedelta(seconds=10_000), POLICY) == timedelta(seconds=500)


@pytest.mark.parametrize(
    ("policy", "fewest", "most"), [(POLICY, 200, 240), (FOLLOW_UP_CADENCE, 100, 170)]
)
def test_silent_transaction_costs_few_questions(
    policy: CadencePolicy, fewest: int, most: int
) -> None:
    assert fewest <= len(list(ages_of_questions(policy))) <= most


def test_rejected_transaction_is_asked_more_sparsely() -> None:
    assert len(list(ages_of_questions(is_rejected=True))) < len(list(ages_of_questions())) / 4


@pytest.mark.parametrize("is_rejected", [False, True])
def test_last_question_falls_on_the_end_of_the_window(*, is_rejected: bool) -> None:
    *_, last = ages_of_questions(is_rejected=is_rejected)

    assert last == END == timedelta(days=7, hours=2)


def test_clock_set_back_counts_as_age_zero() -> None:
    assert next_check(timedelta(days=-7), POLICY) == POLICY.shortest_interval


@given(AGES)
def test_next_question_is_never_later_than_the_window_allows(age: timedelta) -> None:
    wait = next_check(age, POLICY)

    assert wait is None or timedelta() < wait <= max(END - age, POLICY.shortest_interval)


@given(AGES)
def test_unanswered_question_is_put_again_within_a_minute_or_an_hour_at_the_end(
    age: timedelta,
) -> None:
    wait = next_try(age, POLICY)

    assert timedelta() < wait <= (timedelta(minutes=1) if age < END else timedelta(hours=1))
