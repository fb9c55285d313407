"""A clock that leaps ahead is believed after days on which the store was measured, not before."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.health.troubles import CONFIRMED_BY, FURTHEST, ClockJump, unconfirmed_jump
from tests.builders import A_MOMENT

DAY = timedelta(days=1)
DECADE = 3650 * DAY
LAST_WEEK = [A_MOMENT - number * DAY for number in range(7)]


def test_clock_of_a_new_store_is_trusted() -> None:
    assert unconfirmed_jump([], A_MOMENT) is None


def test_days_without_a_worker_are_no_leap() -> None:
    assert unconfirmed_jump(LAST_WEEK, A_MOMENT + FURTHEST) is None


def test_leap_is_told_with_both_its_ends() -> None:
    ahead = A_MOMENT + FURTHEST + timedelta(milliseconds=1)

    assert unconfirmed_jump(LAST_WEEK, ahead) == ClockJump(A_MOMENT, ahead)


def test_leap_is_believed_once_so_many_days_were_measured_after_it() -> None:
    after = [A_MOMENT + DECADE + number * DAY for number in range(CONFIRMED_BY)]

    held = unconfirmed_jump([*LAST_WEEK, *after[:-1]], after[-1])

    assert held == ClockJump(A_MOMENT, after[0])
    assert unconfirmed_jump([*LAST_WEEK, *after], after[-1]) is None


def test_second_leap_is_doubted_like_the_first() -> None:
    after = [A_MOMENT + DECADE + number * DAY for number in range(CONFIRMED_BY)]

    held = unconfirmed_jump([*LAST_WEEK, *after], after[-1] + DECADE)

    assert held == ClockJump(after[-1], after[-1] + DECADE)


def test_clock_that_is_set_right_is_trusted_at_once() -> None:
    ahead = [A_MOMENT + DECADE, A_MOMENT + DECADE + DAY]

    assert unconfirmed_jump([*LAST_WEEK, *ahead], A_MOMENT + DAY) is None


def test_machine_that_runs_once_a_fortnight_goes_on_some_runs_behind() -> None:
    runs = [A_MOMENT + 14 * number * DAY for number in range(10)]

    held = unconfirmed_jump(runs, runs[-1] + 14 * DAY)

    assert held == ClockJump(runs[-CONFIRMED_BY], runs[-CONFIRMED_BY + 1])
