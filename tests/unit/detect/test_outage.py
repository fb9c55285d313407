"""When an API is called silent, and when its figures are called stale."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from dashboard.detect.outage import (
    Answered,
    GasReadings,
    Unanswered,
    conclude_exclusion_outage,
    conclude_gas,
    detect_outage,
    detect_staleness,
)
from dashboard.domain.alerts.condition import Condition, Reading, State, SubjectKind
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.health.observation import Operation
from tests.builders import A_MOMENT, seconds
from tests.unit.detect.network_conclusions import conclusions_from

NOW = A_MOMENT + seconds(600)
FAILING = Unanswered(A_MOMENT, NOW, "no answer within 5 s")
WELL = Reading(is_trouble=False, at=NOW)
FEES = Operation.SUGGESTED_GAS_FEES
MARK = Operation.BUSY_THRESHOLD


@pytest.mark.parametrize("answered_at", [None, A_MOMENT - seconds(4), A_MOMENT])
def test_api_that_answered_nothing_since_the_first_failure_is_silent(
    answered_at: datetime | None,
) -> None:
    sight = detect_outage(FAILING, answered_at, A_MOMENT, NOW)

    grounds = OutageGrounds(A_MOMENT, "no answer within 5 s")
    assert sight == Reading(is_trouble=True, at=NOW, since=A_MOMENT, grounds=grounds)


def test_failure_lasts_from_the_first_to_the_latest() -> None:
    assert FAILING.failed_for == seconds(600)
    assert Unanswered(A_MOMENT, A_MOMENT, "refused").failed_for == timedelta()


def test_answer_to_another_question_shows_that_the_api_is_not_silent() -> None:
    assert detect_outage(FAILING, A_MOMENT + seconds(1), A_MOMENT, NOW) == WELL


def test_api_that_fails_nothing_is_not_silent() -> None:
    assert detect_outage(None, A_MOMENT, A_MOMENT, NOW) == WELL


def test_api_that_was_never_asked_is_neither() -> None:
    assert detect_outage(None, None, A_MOMENT, NOW) is None


def test_failure_from_before_the_watch_says_nothing_until_it_is_asked_again() -> None:
    assert detect_outage(FAILING, None, NOW + seconds(1), NOW + seconds(2)) is None


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


GAS_API, STALENESS, EXCLUSION_API = (
    SubjectKind.GAS_API,
    SubjectKind.FEES,
    SubjectKind.EXCLUSION_API,
)


def gas_readings(
    *,
    unanswered: Unanswered | None = None,
    answered_at: datetime | None = None,
    fees_ago: float = 1,
) -> GasReadings:
    """Return what is read at `NOW`, suggested fees being asked for every 4 seconds."""
    fees_at = NOW - seconds(fees_ago)
    answers = (answered(FEES, fees_ago, 4),)
    return GasReadings(NOW, A_MOMENT, unanswered, answered_at, answers, fees_at)


def test_network_whose_gas_api_answers_is_neither_silent_nor_stale() -> None:
    conclusions = conclusions_from({})

    conclude_gas(conclusions, gas_readings(answered_at=NOW))

    states = conclusions.state(GAS_API), conclusions.state(STALENESS)
    assert states == (State.ANSWERING, State.FRESH)


def test_fees_that_age_because_the_gas_api_is_silent_are_reported_by_that_silence_alone() -> None:
    fresh = Condition(State.FRESH, A_MOMENT)
    conclusions = conclusions_from({STALENESS: fresh})

    conclude_gas(conclusions, gas_readings(unanswered=FAILING, fees_ago=601))

    [opening] = conclusions.transitions
    assert (opening.subject.kind, opening.after) == (GAS_API, State.SILENT)
    assert conclusions.held[STALENESS] == fresh


def test_failure_from_before_the_watch_still_explains_why_fees_are_old() -> None:
    fresh = Condition(State.FRESH, A_MOMENT)
    conclusions = conclusions_from({STALENESS: fresh})
    failed_before = Unanswered(A_MOMENT - seconds(60), A_MOMENT - seconds(1), "refused")

    conclude_gas(conclusions, gas_readings(unanswered=failed_before, fees_ago=661))

    assert conclusions.held == {STALENESS: fresh}


def test_silence_that_is_about_to_end_still_explains_why_fees_are_old() -> None:
    silent, fresh = Condition(State.SILENT, A_MOMENT), Condition(State.FRESH, A_MOMENT)
    conclusions = conclusions_from({GAS_API: silent, STALENESS: fresh})

    conclude_gas(conclusions, gas_readings(answered_at=NOW, fees_ago=601))

    assert conclusions.held[GAS_API] == Condition(State.SILENT, A_MOMENT, turning_since=NOW)
    assert conclusions.held[STALENESS] == fresh
    assert conclusions.transitions == []


def test_fees_are_stale_by_themselves_while_their_source_answers_other_questions() -> None:
    conclusions = conclusions_from({STALENESS: Condition(State.FRESH, A_MOMENT)})

    conclude_gas(conclusions, gas_readings(unanswered=FAILING, answered_at=NOW, fees_ago=601))

    assert conclusions.state(GAS_API) is State.ANSWERING
    assert conclusions.state(STALENESS) is State.STALE


def test_exclusion_api_that_was_never_asked_is_neither_silent_nor_answering() -> None:
    conclusions = conclusions_from({})

    conclude_exclusion_outage(conclusions, None, A_MOMENT, NOW)

    assert conclusions.state(EXCLUSION_API) is None


@pytest.mark.parametrize(("waited", "state"), [(59, State.SILENT), (60, State.ANSWERING)])
def test_silence_of_the_exclusion_api_ends_after_it_answered_for_long_enough(
    waited: float, state: State
) -> None:
    since = NOW - seconds(waited)
    conclusions = conclusions_from({EXCLUSION_API: Condition(State.SILENT, A_MOMENT, since)})

    conclude_exclusion_outage(conclusions, None, A_MOMENT, NOW)

    assert conclusions.state(EXCLUSION_API) is state


@pytest.mark.parametrize(("span", "state"), [(0, None), (119.999, None), (120, State.SILENT)])
def test_exclusion_api_is_silent_only_once_its_failures_span_the_pending_time(
    span: float, state: State | None
) -> None:
    conclusions = conclusions_from({})
    failing = Unanswered(A_MOMENT, A_MOMENT + seconds(span), "refused")

    conclude_exclusion_outage(conclusions, failing, A_MOMENT, NOW)

    assert conclusions.state(EXCLUSION_API) is state


def test_single_failure_holds_the_silence_of_the_exclusion_api_and_ends_the_waiting() -> None:
    ending = Condition(State.SILENT, A_MOMENT, turning_since=NOW - seconds(59))
    conclusions = conclusions_from({EXCLUSION_API: ending})

    conclude_exclusion_outage(conclusions, Unanswered(NOW, NOW, "refused"), A_MOMENT, NOW)

    assert conclusions.held[EXCLUSION_API] == Condition(State.SILENT, A_MOMENT)


def test_failures_from_before_the_watch_say_nothing_of_the_exclusion_api() -> None:
    conclusions = conclusions_from({})

    conclude_exclusion_outage(conclusions, FAILING, NOW + seconds(1), NOW + seconds(2))

    assert conclusions.state(EXCLUSION_API) is None
