"""How busy a network is said to be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.detect.busy_measure import (
    SMALLEST_FLAT_WINDOW,
    BaseFeeReadings,
    PriorityFeeReadings,
    conclude_busyness,
    is_busyness_known,
    is_flat,
    measure_busyness,
)
from dashboard.domain.condition import Condition, State, SubjectKind
from dashboard.domain.fee_percentiles import RankedFees
from dashboard.domain.gas import GasSource
from dashboard.domain.grounds import FeeGrounds, Signal
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, seconds
from tests.unit.detect.network_conclusions import conclusions_from

MOVING = RankedFees((Wei(90), Wei(110)))
FLAT = RankedFees([Wei(7)] * SMALLEST_FLAT_WINDOW)
FEW = RankedFees([Wei(7)] * (SMALLEST_FLAT_WINDOW - 1))


NO_PRIORITY = PriorityFeeReadings(Wei(1), RankedFees())
ONE_TO_HUNDRED = RankedFees(map(Wei, range(100, 0, -1)))


def test_window_of_one_value_is_flat() -> None:
    assert is_flat(FLAT)


def test_window_with_one_other_value_is_not_flat() -> None:
    assert not is_flat(RankedFees([*[Wei(7)] * SMALLEST_FLAT_WINDOW, Wei(8)]))


def test_few_equal_fees_are_not_flat() -> None:
    assert not is_flat(FEW)


@pytest.mark.parametrize(("fee", "is_busy"), [(99, False), (100, False), (101, True)])
def test_busy_is_strictly_above_the_threshold(fee: int, is_busy: bool) -> None:  # noqa: FBT001 - a column of the table
    grounds = measure_busyness(BaseFeeReadings(Wei(fee), Wei(100), MOVING), NO_PRIORITY)

    assert grounds is not None
    assert grounds.is_busy is is_busy


@pytest.mark.parametrize(("fee", "threshold"), [(None, Wei(7)), (Wei(7), None), (None, None)])
def test_missing_value_gives_no_grounds(fee: Wei | None, threshold: Wei | None) -> None:
    assert measure_busyness(BaseFeeReadings(fee, threshold, MOVING), NO_PRIORITY) is None


def test_moving_base_fee_is_weighed_against_its_threshold() -> None:
    readings = BaseFeeReadings(Wei(101), Wei(100), MOVING)

    assert measure_busyness(readings, NO_PRIORITY) == FeeGrounds(
        Signal.BASE_FEE, Wei(101), Wei(100)
    )


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


def test_fees_are_not_weighed_without_a_threshold() -> None:
    assert measure_busyness(BaseFeeReadings(Wei(7), None, MOVING), NO_PRIORITY) is None


BUSYNESS = SubjectKind.BUSYNESS
ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(101), Wei(100))
BELOW = FeeGrounds(Signal.BASE_FEE, Wei(99), Wei(100))
ABOUT_TO_BE_BUSY = Condition(State.CALM, A_MOMENT, turning_since=A_MOMENT)
ABOUT_TO_BE_CALM = Condition(State.BUSY, A_MOMENT, turning_since=A_MOMENT)


@pytest.mark.parametrize("source", GasSource)
def test_stale_fees_do_not_show_busyness_whichever_source_answers(source: GasSource) -> None:
    conclusions = conclusions_from({SubjectKind.FEES: Condition(State.STALE, A_MOMENT)})

    assert not is_busyness_known(conclusions, source)


@pytest.mark.parametrize(
    ("source", "is_known"),
    [(GasSource.GAS_API, False), (GasSource.NODE, False), (GasSource.NODE_INSTEAD, True)],
)
def test_only_the_node_that_answers_instead_makes_up_for_a_silent_gas_api(
    source: GasSource, *, is_known: bool
) -> None:
    conclusions = conclusions_from({SubjectKind.GAS_API: Condition(State.SILENT, A_MOMENT)})

    assert is_busyness_known(conclusions, source) is is_known


@pytest.mark.parametrize(
    "held",
    [
        {},
        {
            SubjectKind.FEES: Condition(State.FRESH, A_MOMENT),
            SubjectKind.GAS_API: Condition(State.ANSWERING, A_MOMENT),
        },
    ],
)
def test_busyness_is_known_unless_fees_are_stale_or_their_source_silent(
    held: dict[SubjectKind, Condition],
) -> None:
    assert is_busyness_known(conclusions_from(held), GasSource.GAS_API)


@pytest.mark.parametrize(
    ("before", "grounds", "waited", "after"),
    [
        (ABOUT_TO_BE_BUSY, ABOVE, seconds(60), State.BUSY),
        (ABOUT_TO_BE_CALM, BELOW, seconds(300), State.CALM),
    ],
)
def test_fee_that_stayed_beyond_its_threshold_changes_busyness_and_is_kept_as_its_grounds(
    before: Condition, grounds: FeeGrounds, waited: timedelta, after: State
) -> None:
    conclusions = conclusions_from({BUSYNESS: before})

    conclude_busyness(conclusions, grounds, A_MOMENT + waited, were_fees_stale=False)

    [transition] = conclusions.transitions
    assert (transition.before, transition.after) == (before.state, after)
    assert transition.grounds == grounds


@pytest.mark.parametrize("before", [ABOUT_TO_BE_BUSY, ABOUT_TO_BE_CALM])
def test_without_grounds_busyness_is_held_and_waiting_ends(before: Condition) -> None:
    conclusions = conclusions_from({BUSYNESS: before})

    conclude_busyness(conclusions, None, A_MOMENT + seconds(3600), were_fees_stale=False)

    assert conclusions.held[BUSYNESS] == Condition(before.state, A_MOMENT)
    assert conclusions.transitions == []


def test_time_in_which_fees_were_stale_does_not_count_as_busy() -> None:
    conclusions = conclusions_from({BUSYNESS: ABOUT_TO_BE_BUSY})
    fresh_again = A_MOMENT + seconds(3600)

    conclude_busyness(conclusions, ABOVE, fresh_again, were_fees_stale=True)

    assert conclusions.held[BUSYNESS] == Condition(State.CALM, A_MOMENT, turning_since=fresh_again)
    assert conclusions.transitions == []
