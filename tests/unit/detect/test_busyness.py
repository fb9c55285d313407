"""How busy a network is said to be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.detect.busyness import (
    BaseFeeReadings,
    PriorityFeeReadings,
    conclude_busyness,
    is_flat,
    measure_busyness,
)
from dashboard.domain.alerts.condition import (
    Condition,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, A_NETWORK, an_id, seconds
from tests.unit.detect.network_conclusions import conclusions_from

MOVING = RankedFees((Wei(90), Wei(110)))
FLAT = RankedFees([Wei(7)] * 20)
FEW = RankedFees([Wei(7)] * 19)


NO_PRIORITY = PriorityFeeReadings(Wei(1), RankedFees())
ONE_TO_HUNDRED = RankedFees(map(Wei, range(100, 0, -1)))


def test_window_is_flat_that_holds_one_value_many_times() -> None:
    assert is_flat(FLAT)
    assert not is_flat(RankedFees([*FLAT, Wei(8)]))
    assert not is_flat(FEW)


@pytest.mark.parametrize(("fee", "is_busy"), [(99, False), (100, False), (101, True)])
def test_busy_is_strictly_above_the_threshold(fee: int, is_busy: bool) -> None:  # noqa: FBT001 - a column of the table
    grounds = measure_busyness(BaseFeeReadings(Wei(fee), Wei(100), MOVING), NO_PRIORITY)

    assert grounds == FeeGrounds(Signal.BASE_FEE, Wei(fee), Wei(100))
    assert grounds.is_busy is is_busy


@pytest.mark.parametrize(("fee", "threshold"), [(None, Wei(7)), (Wei(7), None), (None, None)])
def test_missing_value_gives_no_grounds(fee: Wei | None, threshold: Wei | None) -> None:
    assert measure_busyness(BaseFeeReadings(fee, threshold, MOVING), NO_PRIORITY) is None


@pytest.mark.parametrize(("fee", "is_busy"), [(90, False), (91, True)])
def test_flat_chain_is_busy_strictly_above_the_90th_percentile_of_priority_fees(
    fee: int, *, is_busy: bool
) -> None:
    grounds = measure_busyness(
        BaseFeeReadings(Wei(7), Wei(7), FLAT), PriorityFeeReadings(Wei(fee), ONE_TO_HUNDRED)
    )

    assert grounds == FeeGrounds(Signal.PRIORITY_FEE, Wei(fee), Wei(90))
    assert grounds.is_busy is is_busy


def test_chain_on_which_no_fee_moves_is_never_busy() -> None:
    grounds = measure_busyness(
        BaseFeeReadings(Wei(7), Wei(7), FLAT), PriorityFeeReadings(Wei(7), FLAT)
    )

    assert grounds is not None
    assert not grounds.is_busy


def test_few_priority_fees_are_no_measure() -> None:
    few = PriorityFeeReadings(Wei(9), FEW)

    assert measure_busyness(BaseFeeReadings(Wei(7), Wei(7), FLAT), few) is None


BUSYNESS = SubjectKind.BUSYNESS
ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(101), Wei(100))
BELOW = FeeGrounds(Signal.BASE_FEE, Wei(99), Wei(100))
A_SUBJECT = Subject(SubjectKind.BUSYNESS, A_NETWORK)
SILENCE = seconds(120)
ABOUT_TO_BE_BUSY = Condition(State.CALM, A_MOMENT, A_MOMENT, A_MOMENT + seconds(100))
ABOUT_TO_BE_CALM = Condition(State.BUSY, A_MOMENT, A_MOMENT, A_MOMENT + seconds(100))


@pytest.mark.parametrize(
    ("before", "grounds", "waited", "after"),
    [
        (ABOUT_TO_BE_BUSY, ABOVE, seconds(110), State.BUSY),
        (
            replace(ABOUT_TO_BE_CALM, seen_at=A_MOMENT + seconds(290)),
            BELOW,
            seconds(300),
            State.CALM,
        ),
    ],
)
def test_fee_that_stayed_beyond_its_threshold_changes_busyness_and_is_kept_as_its_grounds(
    before: Condition, grounds: FeeGrounds, waited: timedelta, after: State
) -> None:
    conclusions = conclusions_from({BUSYNESS: before})

    conclude_busyness(conclusions, grounds, A_MOMENT + waited, SILENCE)

    [transition] = conclusions.transitions
    assert (transition.before, transition.after) == (before.state, after)
    assert (transition.since, transition.grounds) == (A_MOMENT, grounds)


@pytest.mark.parametrize("before", [ABOUT_TO_BE_BUSY, ABOUT_TO_BE_CALM])
def test_without_a_value_for_long_busyness_is_not_known(before: Condition) -> None:
    conclusions, now = conclusions_from({BUSYNESS: before}), A_MOMENT + seconds(300)

    conclude_busyness(conclusions, None, now, SILENCE)

    [transition] = conclusions.transitions
    assert transition == Transition(
        an_id(), A_SUBJECT, before.state, State.UNKNOWN, now, None, A_MOMENT
    )
    assert conclusions.held[BUSYNESS] == Condition(
        State.UNKNOWN, A_MOMENT, seen_at=A_MOMENT + seconds(100)
    )


def test_moment_without_a_value_changes_nothing() -> None:
    conclusions = conclusions_from({BUSYNESS: ABOUT_TO_BE_BUSY})

    conclude_busyness(conclusions, None, A_MOMENT + seconds(220), SILENCE)

    assert conclusions.held[BUSYNESS] == ABOUT_TO_BE_BUSY
    assert conclusions.transitions == []


def test_first_value_after_a_gap_says_that_it_is_calm_again() -> None:
    held = Condition(State.BUSY, A_MOMENT, seen_at=A_MOMENT + seconds(100))
    conclusions, now = conclusions_from({BUSYNESS: held}), A_MOMENT + seconds(3600)

    conclude_busyness(conclusions, BELOW, now, SILENCE)

    lost, calm = conclusions.transitions
    assert (lost.after, lost.since, lost.grounds) == (State.UNKNOWN, held.seen_at, None)
    assert (calm.before, calm.after, calm.since) == (State.UNKNOWN, State.CALM, now)


def test_network_of_which_nothing_was_known_begins_calm() -> None:
    conclusions = conclusions_from({})

    conclude_busyness(conclusions, None, A_MOMENT, SILENCE)
    conclude_busyness(conclusions, ABOVE, A_MOMENT, SILENCE)

    [transition] = conclusions.transitions
    assert (transition.before, transition.after) == (None, State.CALM)
    assert conclusions.held[BUSYNESS].turning_since == A_MOMENT


def test_condition_of_release_0_1_0_goes_on_without_a_gap() -> None:
    conclusions = conclusions_from({BUSYNESS: Condition(State.BUSY, A_MOMENT)})

    conclude_busyness(conclusions, ABOVE, A_MOMENT + seconds(9000), SILENCE)

    assert conclusions.transitions == []
