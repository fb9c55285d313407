"""When an API is called silent, and when its figures are called stale."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from dashboard.detect.condition_start_end import Reading
from dashboard.detect.silence import Answered, Unanswered, detect_silence, detect_staleness
from dashboard.domain.grounds import AgeGrounds, SilenceGrounds
from dashboard.domain.observation import Operation
from tests.builders import A_MOMENT, seconds

NOW = A_MOMENT + seconds(600)
FAILING = Unanswered(A_MOMENT, NOW, "no answer within 5 s")
WELL = Reading(is_trouble=False, at=NOW)
FEES = Operation.SUGGESTED_GAS_FEES
MARK = Operation.BUSY_THRESHOLD


@pytest.mark.parametrize("answered_at", [None, A_MOMENT - seconds(4), A_MOMENT])
def test_api_that_answered_nothing_since_the_first_failure_is_silent(
    answered_at: datetime | None,
) -> None:
    sight = detect_silence(FAILING, answered_at, A_MOMENT, NOW)

    grounds = SilenceGrounds(A_MOMENT, "no answer within 5 s")
    assert sight == Reading(is_trouble=True, at=NOW, since=A_MOMENT, grounds=grounds)


def test_failure_lasts_from_the_first_to_the_latest() -> None:
    assert FAILING.failed_for == seconds(600)
    assert Unanswered(A_MOMENT, A_MOMENT, "refused").failed_for == timedelta()


def test_answer_to_another_question_shows_that_the_api_is_not_silent() -> None:
    assert detect_silence(FAILING, A_MOMENT + seconds(1), A_MOMENT, NOW) == WELL


def test_api_that_fails_nothing_is_not_silent() -> None:
    assert detect_silence(None, A_MOMENT, A_MOMENT, NOW) == WELL


def test_api_that_was_never_asked_is_neither() -> None:
    assert detect_silence(None, None, A_MOMENT, NOW) is None


def test_failure_from_before_the_watch_says_nothing_until_it_is_asked_again() -> None:
    assert detect_silence(FAILING, None, NOW + seconds(1), NOW + seconds(2)) is None


def answered(operation: Operation, ago: float, period: float) -> Answered:
    return Answered(operation, NOW - seconds(ago), seconds(period))


def test_no_figures_are_neither_fresh_nor_stale() -> None:
    assert detect_staleness([], None, NOW) is None


def test_figures_within_two_of_their_own_periods_are_fresh() -> None:
    assert detect_staleness([answered(FEES, 8, 4), answered(MARK, 120, 60)], None, NOW) == WELL


@pytest.mark.parametrize(
    ("fees", "mark", "told"), [(8.001, 10, FEES), (1, 120.001, MARK), (9, 400, MARK)]
)
def test_figure_older_than_two_of_its_own_periods_is_stale(
    fees: float, mark: float, told: Operation
) -> None:
    sight = detect_staleness([answered(FEES, fees, 4), answered(MARK, mark, 60)], None, NOW)

    assert sight is not None
    assert sight.is_trouble
    assert isinstance(sight.grounds, AgeGrounds)
    assert sight.grounds.operation is told


def test_staleness_counts_from_the_moment_at_which_the_figure_became_too_old() -> None:
    sight = detect_staleness([answered(FEES, 60, 4)], None, NOW)

    assert sight is not None
    assert sight.since == NOW - seconds(52)
    assert sight.grounds == AgeGrounds(FEES, NOW - seconds(60), timedelta(seconds=4))


def test_figure_that_never_came_is_stale_and_said_to_be_missing() -> None:
    missing = Answered(MARK, NOW - seconds(121), timedelta(seconds=60), was_answered=False)

    sight = detect_staleness([answered(FEES, 1, 4), missing], None, NOW)

    assert sight is not None
    assert sight.is_trouble
    assert sight.grounds == AgeGrounds(MARK, None, timedelta(seconds=60))


def test_figure_that_is_stale_since_its_source_fell_silent_is_not_told_twice() -> None:
    silent_since = NOW - seconds(50)

    assert detect_staleness([answered(FEES, 52, 4)], silent_since, NOW) is None


def test_figure_of_a_node_that_answered_instead_is_stale_of_its_own() -> None:
    silent_since = NOW - seconds(300)

    sight = detect_staleness([answered(FEES, 60, 4), answered(MARK, 310, 60)], silent_since, NOW)

    assert sight is not None
    assert isinstance(sight.grounds, AgeGrounds)
    assert sight.grounds.operation is FEES
