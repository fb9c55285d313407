"""What a rule measures opens and ends like any condition, each subject by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from dashboard.detect.condition_start_end import Reading
from dashboard.detect.rule_measures import (
    MeasuredChange,
    Readings,
    conclude_measured,
    end_without_rule,
    read_fee_limit,
    read_rates,
    unmeasured,
)
from dashboard.domain.condition import Condition, State, Subject, SubjectKind
from dashboard.domain.grounds import FeeLimitGrounds, RateGrounds, Signal
from dashboard.domain.quantity import Wei
from dashboard.domain.rule import Dimension, FeeMeasure, RateMeasure, Rule, RuleKind
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, an_id, seconds

RATE = RateMeasure(50, seconds(600), Dimension.MODULE)
STORM = Rule("storm", RuleKind.REJECTION_RATE, measure=RATE, pending=seconds(60))
HUB = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule="storm", dimension="HUB")
CHEAP = FeeMeasure(Signal.BASE_FEE, Wei(7), is_upper=False)
LOW = Rule("low", RuleKind.FEE, measure=CHEAP)
FEE = Subject(SubjectKind.FEE_LIMIT, A_NETWORK, rule="low")
OPEN = Condition(State.BEYOND_LIMITS, A_MOMENT)


def rates(count: int, now: datetime = A_MOMENT) -> Readings:
    """Read that so many rejections of the module HUB arrived."""
    return read_rates(STORM, RATE, {(A_NETWORK, "HUB"): count}, now)


def concluded(
    rule: Rule, readings: Readings, held: dict[Subject, Condition]
) -> list[MeasuredChange]:
    """Return what readings change."""
    return list(conclude_measured(rule, readings, held, lambda: an_id(9)))


@pytest.mark.parametrize(("count", "is_trouble"), [(50, False), (51, True)])
def test_rate_is_trouble_strictly_above_what_the_rule_allows(
    count: int, *, is_trouble: bool
) -> None:
    assert rates(count) == {
        HUB: Reading(
            is_trouble, A_MOMENT, grounds=RateGrounds(count, 50, seconds(600), "module", "HUB")
        )
    }


def test_rate_without_a_dimension_is_that_of_the_network() -> None:
    whole = replace(RATE, by=None)
    (subject,) = read_rates(STORM, whole, {(ANOTHER_NETWORK, ""): 3}, A_MOMENT)

    assert subject == Subject(SubjectKind.REJECTION_RATE, ANOTHER_NETWORK, rule="storm")
    assert subject.key() == "rejection rate:59144::storm:"


@pytest.mark.parametrize(
    ("fee", "limit", "is_upper", "is_beyond"),
    [(8, 7, True, True), (7, 7, True, False), (7, 7, False, False), (6, 7, False, True)],
)
def test_fee_is_beyond_its_limit_strictly(
    fee: int, limit: int, *, is_upper: bool, is_beyond: bool
) -> None:
    measure = FeeMeasure(Signal.BASE_FEE, Wei(limit), is_upper)

    reading = read_fee_limit(LOW, measure, A_NETWORK, Wei(fee), A_MOMENT)[FEE]

    grounds = FeeLimitGrounds(Signal.BASE_FEE, Wei(fee), Wei(limit), is_upper)
    assert reading == Reading(is_beyond, A_MOMENT, grounds=grounds)


def test_fee_that_is_not_known_lets_the_condition_hold_and_waiting_begin_again() -> None:
    unknown = read_fee_limit(LOW, CHEAP, A_NETWORK, None, A_MOMENT)
    turning = replace(OPEN, turning_since=A_MOMENT)

    assert concluded(LOW, unknown, {}) == []
    assert concluded(LOW, unknown, {FEE: OPEN}) == []
    (change,) = concluded(LOW, unknown, {FEE: turning})
    assert change.conclusion.condition == OPEN


def test_usual_rate_of_what_was_never_held_leaves_nothing_behind() -> None:
    assert concluded(STORM, rates(50), {}) == []


def test_rate_opens_after_the_pending_period_of_its_rule() -> None:
    (first,) = concluded(STORM, rates(51), {})
    held = first.conclusion.condition
    assert held is not None
    (second,) = concluded(STORM, rates(52, A_MOMENT + seconds(60)), {HUB: held})

    assert first.conclusion.transition is not None
    assert not first.conclusion.transition.is_news
    assert second.conclusion.transition is not None
    assert second.conclusion.transition.is_news
    assert second.conclusion.transition.after is State.BEYOND_LIMITS


def test_rate_that_lasts_changes_nothing() -> None:
    assert concluded(STORM, rates(60), {HUB: OPEN}) == []


def test_value_that_nothing_arrives_of_any_more_is_a_rate_of_none() -> None:
    other = replace(HUB, rule="other")

    assert unmeasured({}, {HUB: OPEN, other: OPEN}, STORM, A_MOMENT) == {
        HUB: Reading(
            is_trouble=False,
            at=A_MOMENT,
            grounds=RateGrounds(0, 50, seconds(600), "module", "HUB"),
        )
    }
    assert unmeasured(rates(51), {HUB: OPEN}, STORM, A_MOMENT) == {}
    assert unmeasured({}, {FEE: OPEN}, LOW, A_MOMENT) == {}


def test_what_lost_its_rule_ends_at_once() -> None:
    ended = end_without_rule(HUB, OPEN, A_MOMENT, lambda: an_id(9))

    assert ended.changes_stored
    assert ended.conclusion.condition == Condition(State.WITHIN_LIMITS, A_MOMENT)


def test_what_is_over_already_is_left_alone() -> None:
    over = Condition(State.WITHIN_LIMITS, A_MOMENT)

    assert not end_without_rule(HUB, over, A_MOMENT, lambda: an_id(9)).changes_stored
