"""When a notice is tried again, and when it is given up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.alert.retry import RetryRule, next_attempt, next_turn
from dashboard.domain.notice import Notice
from tests.builders import A_MOMENT, a_notice

RULE = RetryRule(timedelta(seconds=15), timedelta(hours=1))


def tried(attempts: int) -> Notice:
    return a_notice(attempts=attempts)


@pytest.mark.parametrize(
    ("attempts", "wait"),
    [(0, 15), (1, 30), (2, 60), (7, 1920), (8, 3600), (9, 3600), (10_000, 3600)],
)
def test_wait_doubles_up_to_an_hour(attempts: int, wait: int) -> None:
    now = A_MOMENT + timedelta(hours=1)

    assert next_attempt(tried(attempts), now, RULE) == now + timedelta(seconds=wait)


def test_notice_that_was_only_put_off_has_its_turn_soon_however_old_it_is() -> None:
    now = A_MOMENT + timedelta(days=70)

    assert next_turn(tried(0), now, RULE) == now + timedelta(seconds=15)
    assert next_turn(tried(100), now, RULE) == now + timedelta(hours=1)


def test_notice_is_given_up_after_seven_days() -> None:
    assert next_attempt(tried(100), A_MOMENT + timedelta(days=7), RULE) is None


def test_notice_is_tried_until_seven_days_are_over() -> None:
    just_before = A_MOMENT + timedelta(days=7) - timedelta(seconds=1)

    assert next_attempt(tried(100), just_before, RULE) is not None


def test_clock_that_jumps_a_week_does_not_end_what_is_owed() -> None:
    assert next_attempt(tried(1), A_MOMENT + timedelta(days=7), RULE) is not None


def test_clock_set_back_still_gives_a_time_to_come() -> None:
    now = A_MOMENT - timedelta(days=7)

    assert next_attempt(tried(0), now, RULE) == now + timedelta(seconds=15)
