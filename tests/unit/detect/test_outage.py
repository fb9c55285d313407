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
    conclude_line_limits,
    conclude_unasked,
    detect_outage,
    detect_staleness,
    end_unwatched,
)
from dashboard.domain.alerts.condition import Condition, Reading, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.limits_end import EndGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds, UnaskedGrounds
from dashboard.domain.health.observation import Operation
from dashboard.domain.rejections.line_limits import LimitsEnd
from tests.builders import A_MOMENT, A_NETWORK, an_id, seconds
from tests.unit.detect.network_conclusions import conclusions_from

NOW = A_MOMENT + seconds(600)
FAILING = Unanswered(A_MOMENT, NOW, "no answer within 5 s")
WELL = Reading(is_trouble=False, at=NOW)
FEES = Operation.SUGGESTED_GAS_FEES
MARK = Operation.BUSY_THRESHOLD


TROUBLE = Reading(
    is_trouble=True,
    at=NOW,
    since=A_MOMENT,
    grounds=OutageGrounds(A_MOMENT, "no answer within 5 s"),
)


@pytest.mark.parametrize(
    ("unanswered", "answered_at", "reading"),
    [
        (FAILING, None, TROUBLE),
        (FAILING, A_MOMENT - seconds(4), TROUBLE),
        (FAILING, A_MOMENT, TROUBLE),
        (FAILING, A_MOMENT + seconds(1), WELL),  # to another question
        (None, A_MOMENT, WELL),
        (None, None, None),
    ],
)
def test_api_is_silent_that_answered_nothing_since_the_first_failure(
    unanswered: Unanswered | None, answered_at: datetime | None, reading: Reading | None
) -> None:
    assert detect_outage(unanswered, answered_at, A_MOMENT, NOW) == reading


def test_failure_from_before_the_watch_says_nothing_until_it_is_asked_again() -> None:
    assert detect_outage(FAILING, None, NOW + seconds(1), NOW + seconds(2)) is None
    assert detect_outage(FAILING, None, NOW, NOW) == TROUBLE


def answered(operation: Operation, ago: float, period: float) -> Answered:
    return Answered(operation, NOW - seconds(ago), seconds(period))


def stale(operation: Operation, ago: float, period: float) -> Reading:
    """Return that a figure is stale since it was older than two of its periods."""
    grounds = AgeGrounds(operation, NOW - seconds(ago), seconds(period))
    since = NOW - seconds(ago - 2 * period)
    return Reading(is_trouble=True, at=NOW, since=since, grounds=grounds)


@pytest.mark.parametrize(
    ("fees", "mark", "outage", "reading"),
    [
        (8, 120, None, WELL),
        (8.001, 10, None, stale(FEES, 8.001, 4)),
        (1, 120.001, None, stale(MARK, 120.001, 60)),
        (9, 400, None, stale(MARK, 400, 60)),  # the one that is stale longest
        (52, 60, 50, None),  # the outage of its source is reported already
        (50, 60, 50, None),
        (60, 310, 300, stale(FEES, 60, 4)),  # a node answered in place of the source
    ],
)
def test_figure_older_than_two_of_its_own_periods_is_stale_unless_its_source_is_silent(
    fees: float, mark: float, outage: float | None, reading: Reading | None
) -> None:
    figures = [answered(FEES, fees, 4), answered(MARK, mark, 60)]
    since = None if outage is None else NOW - seconds(outage)

    assert detect_staleness(figures, since, NOW) == reading


def test_no_figures_are_neither_fresh_nor_stale_and_one_that_never_came_is_missing() -> None:
    missing = Answered(MARK, NOW - seconds(121), seconds(60), was_answered=False)

    assert detect_staleness([], None, NOW) is None
    found = detect_staleness([answered(FEES, 1, 4), missing], None, NOW)
    assert found is not None
    assert found.is_trouble
    assert found.grounds == AgeGrounds(MARK, None, timedelta(seconds=60))


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
    answers = (answered(FEES, fees_ago, 4),)
    return GasReadings(NOW, A_MOMENT, unanswered, answered_at, answers)


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


LIMITS = SubjectKind.LINE_LIMITS


def test_line_limits_end_once_and_come_back_if_the_settings_move_their_end() -> None:
    conclusions = conclusions_from({})
    end, later = LimitsEnd(NOW, block_number=7), LimitsEnd(NOW + seconds(60))

    assert conclude_line_limits(conclusions, end, NOW - seconds(1)) is None
    assert conclude_line_limits(conclusions, end, NOW + seconds(2)) == NOW
    assert conclude_line_limits(conclusions, end, NOW + seconds(3)) == NOW
    assert conclude_line_limits(conclusions, later, NOW + seconds(4)) is None
    assert conclude_line_limits(conclusions, None, NOW + seconds(5)) is None

    changes = [(each.after, each.since, each.grounds) for each in conclusions.transitions]
    assert changes == [
        (State.NO_LINE_LIMITS, NOW, EndGrounds(NOW, 7)),
        (State.LINE_LIMITS, NOW + seconds(4), None),
    ]


def test_clock_that_is_set_back_does_not_bring_line_limits_back() -> None:
    conclusions = conclusions_from({LIMITS: Condition(State.NO_LINE_LIMITS, NOW)})

    assert conclude_line_limits(conclusions, LimitsEnd(NOW), NOW - seconds(3600)) == NOW
    assert conclusions.transitions == []


def test_silence_of_the_exclusion_api_ends_with_line_limits_and_begins_no_more() -> None:
    ended = Condition(State.NO_LINE_LIMITS, NOW)
    conclusions = conclusions_from(
        {LIMITS: ended, EXCLUSION_API: Condition(State.SILENT, A_MOMENT)}
    )

    for _ in range(2):
        conclude_exclusion_outage(conclusions, FAILING, A_MOMENT, NOW)

    [change] = conclusions.transitions
    assert (change.after, change.since, change.grounds) == (State.ANSWERING, NOW, EndGrounds(NOW))


@pytest.mark.parametrize("state", [None, State.ANSWERING, State.SILENT])
def test_silence_of_the_exclusion_api_ends_once_nothing_is_asked(state: State | None) -> None:
    held = {} if state is None else {EXCLUSION_API: Condition(state, A_MOMENT)}
    conclusions = conclusions_from(held)

    for _ in range(2):
        conclude_unasked(conclusions, NOW)

    found = [(each.after, each.since, each.grounds) for each in conclusions.transitions]
    ended = (State.ANSWERING, NOW, UnaskedGrounds(NOW))
    assert found == ([ended] if state is State.SILENT else [])


@pytest.mark.parametrize(
    ("kind", "before", "after", "grounds"),
    [
        (GAS_API, State.SILENT, State.ANSWERING, UnaskedGrounds(NOW)),
        (EXCLUSION_API, State.SILENT, State.ANSWERING, UnaskedGrounds(NOW)),
        (SubjectKind.FEES, State.STALE, State.FRESH, UnaskedGrounds(NOW)),
        (SubjectKind.BUSYNESS, State.BUSY, State.UNKNOWN, None),
    ],
)
def test_what_nobody_asks_any_more_is_over_without_a_claim_that_it_is_well(
    kind: SubjectKind, before: State, after: State, grounds: UnaskedGrounds | None
) -> None:
    subject = Subject(kind, A_NETWORK)

    over = end_unwatched(subject, before, NOW, an_id(1))

    assert (over.subject, over.before, over.after) == (subject, before, after)
    assert (over.at, over.began_at, over.grounds) == (NOW, NOW, grounds)
