"""A condition is held until the opposite was seen for long enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.detect.condition_start_end import ConditionRules, conclude
from dashboard.domain.alerts.condition import (
    Condition,
    Reading,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.spells import HoldPeriods
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, A_NETWORK, an_id, seconds
from tests.unit.detect.network_conclusions import conclusions_from

SUBJECT = Subject(SubjectKind.GAS_API, A_NETWORK)
RULE = HoldPeriods(pending=seconds(60), keep_firing=seconds(300))
GROUNDS = FeeGrounds(Signal.BASE_FEE, Wei(8), Wei(7))
CALM = Condition(State.ANSWERING, A_MOMENT)


def seen(after: float, *, is_trouble: bool, since: float | None = None) -> Reading:
    """Return what was seen so many seconds after `A_MOMENT`."""
    began = None if since is None else A_MOMENT + seconds(since)
    return Reading(is_trouble, A_MOMENT + seconds(after), began, GROUNDS)


def pending(state: State, since: float) -> Condition:
    """Return a condition of which the opposite is seen since so many seconds."""
    return Condition(state, A_MOMENT, A_MOMENT + seconds(since))


@pytest.mark.parametrize("is_trouble", [True, False])
def test_subject_of_which_nothing_was_held_begins_without_an_incident(*, is_trouble: bool) -> None:
    concluded = conclude(SUBJECT, None, seen(0, is_trouble=is_trouble), RULE, an_id())

    assert concluded.transition == Transition(
        an_id(), SUBJECT, None, State.ANSWERING, A_MOMENT, GROUNDS, A_MOMENT
    )
    assert concluded.turning_since == (A_MOMENT if is_trouble else None)


def test_trouble_that_lasted_long_enough_opens_an_incident_at_once() -> None:
    sight = seen(60, is_trouble=True, since=0)

    assert conclude(SUBJECT, None, sight, RULE, an_id()).transition == Transition(
        an_id(), SUBJECT, None, State.SILENT, sight.at, GROUNDS, A_MOMENT
    )


@pytest.mark.parametrize(("after", "opens"), [(59.999, False), (60, True), (3600, True)])
def test_incident_opens_when_trouble_was_seen_for_the_pending_period(
    after: float, *, opens: bool
) -> None:
    concluded = conclude(
        SUBJECT, pending(State.ANSWERING, 0), seen(after, is_trouble=True), RULE, an_id()
    )

    assert (concluded.transition is not None) is opens
    assert concluded.turning_since == (None if opens else A_MOMENT)


@pytest.mark.parametrize(("after", "closes"), [(299.999, False), (300, True)])
def test_incident_closes_when_calm_was_seen_for_the_keep_firing_period(
    after: float, *, closes: bool
) -> None:
    concluded = conclude(
        SUBJECT, pending(State.SILENT, 0), seen(after, is_trouble=False), RULE, an_id()
    )

    assert (concluded.transition is not None) is closes


def test_known_beginning_of_trouble_counts_more_than_when_it_was_noticed() -> None:
    sight = seen(70, is_trouble=True, since=50)

    concluded = conclude(SUBJECT, pending(State.ANSWERING, 0), sight, RULE, an_id())

    assert concluded.transition is None
    assert concluded.turning_since == A_MOMENT + seconds(50)


def test_clock_set_back_begins_the_waiting_anew() -> None:
    concluded = conclude(
        SUBJECT, pending(State.ANSWERING, 7200), seen(0, is_trouble=True), RULE, an_id()
    )

    assert concluded.turning_since == A_MOMENT


def test_beginning_after_the_sight_itself_does_not_hinder_the_waiting() -> None:
    first = conclude(SUBJECT, CALM, seen(0, is_trouble=True, since=7200), RULE, an_id())
    waiting = Condition(State.ANSWERING, A_MOMENT, first.turning_since)

    concluded = conclude(SUBJECT, waiting, seen(60, is_trouble=True, since=7200), RULE, an_id())

    assert first.turning_since == A_MOMENT
    assert concluded.transition is not None


@pytest.mark.parametrize(
    ("kind", "opened"),
    [
        (SubjectKind.FEES, State.STALE),
        (SubjectKind.GAS_API, State.SILENT),
        (SubjectKind.EXCLUSION_API, State.SILENT),
        (SubjectKind.DISK, State.LOW_ON_SPACE),
    ],
)
def test_each_kind_has_a_state_for_trouble_and_a_rule(kind: SubjectKind, opened: State) -> None:
    rules = ConditionRules()
    sight = Reading(is_trouble=True, at=A_MOMENT, since=A_MOMENT - timedelta(days=1))

    concluded = conclude(Subject(kind, A_NETWORK), None, sight, rules.of(kind), an_id())

    assert concluded.transition is not None
    assert concluded.transition.after is opened
    assert opened.is_open


def test_rule_of_each_kind_is_the_one_that_is_named_for_it() -> None:
    rules = ConditionRules()

    assert rules.of(SubjectKind.BUSYNESS) is rules.busy
    assert rules.of(SubjectKind.FEES) is rules.staleness
    assert rules.of(SubjectKind.GAS_API) is rules.of(SubjectKind.EXCLUSION_API) is rules.outage


def test_state_of_a_network_is_unknown_until_something_was_concluded() -> None:
    conclusions = conclusions_from({})

    before = conclusions.state(SubjectKind.GAS_API)
    conclusions.conclude(SubjectKind.GAS_API, seen(0, is_trouble=False))

    assert (before, conclusions.state(SubjectKind.GAS_API)) == (None, State.ANSWERING)


def test_subject_that_was_never_seen_is_not_held_after_it_could_not_be_seen() -> None:
    conclusions = conclusions_from({})

    conclusions.conclude(SubjectKind.GAS_API, None)

    assert conclusions.held == {}
    assert conclusions.transitions == []


def test_readings_of_one_network_build_on_each_other_in_order() -> None:
    conclusions = conclusions_from({SubjectKind.GAS_API: CALM})

    for after, is_trouble in [(0, True), (120, True), (130, False), (190, False)]:
        conclusions.conclude(SubjectKind.GAS_API, seen(after, is_trouble=is_trouble))

    opened, closed = A_MOMENT + seconds(120), A_MOMENT + seconds(190)
    over = A_MOMENT + seconds(130)
    assert conclusions.transitions == [
        Transition(an_id(2), SUBJECT, State.ANSWERING, State.SILENT, opened, GROUNDS, A_MOMENT),
        Transition(an_id(4), SUBJECT, State.SILENT, State.ANSWERING, closed, GROUNDS, over),
    ]
    assert conclusions.held == {SubjectKind.GAS_API: Condition(State.ANSWERING, over)}


def test_each_kind_waits_by_its_own_rule() -> None:
    kinds = SubjectKind.GAS_API, SubjectKind.FEES
    conclusions = conclusions_from({})

    for kind in kinds:
        conclusions.conclude(kind, seen(150, is_trouble=True, since=0))

    states = [conclusions.state(kind) for kind in kinds]
    assert states == [State.SILENT, State.FRESH]


def test_conclusions_leave_what_was_given_as_held_unchanged() -> None:
    held = {SubjectKind.GAS_API: pending(State.ANSWERING, 0)}

    conclusions_from(held).conclude(SubjectKind.GAS_API, seen(120, is_trouble=True))

    assert held == {SubjectKind.GAS_API: pending(State.ANSWERING, 0)}


@dataclass(frozen=True)
class Look:
    """One look at a subject: when, and whether there was trouble; None: it could not be seen."""

    at: datetime
    is_trouble: bool | None


@st.composite
def looks(draw: st.DrawFn) -> list[Look]:
    """Draw looks in order of time, some at the same time, some days apart."""
    gaps = draw(st.lists(st.sampled_from([0, 1, 4, 30, 59, 60, 61, 299, 300, 90_000]), max_size=40))
    at = A_MOMENT
    drawn = []
    for gap in gaps:
        at += seconds(gap)
        drawn.append(Look(at, draw(st.sampled_from([True, True, False, False, None]))))
    return drawn


def plain_model(series: Sequence[Look]) -> list[tuple[int, bool]]:
    """Return at which looks an incident opens (True) or closes, each time looking back over all.

    It toggles at a look where the opposite was seen at every look back to one that is old
    enough, none of them before the last toggle.
    """
    is_open, since_toggle, toggles = False, 0, []
    for index, look in enumerate(series):
        wait = RULE.keep_firing if is_open else RULE.pending
        for start in range(index, since_toggle - 1, -1):
            if series[start].is_trouble is not (not is_open):
                break
            if look.at - series[start].at >= wait:
                is_open, since_toggle = not is_open, index + 1
                toggles.append((index, is_open))
                break
    return toggles


@given(looks())
def test_any_series_opens_and_closes_where_the_plain_model_does(series: list[Look]) -> None:
    held: Condition | None = None
    toggles = []
    for index, look in enumerate(series):
        sight = None if look.is_trouble is None else Reading(look.is_trouble, look.at)
        concluded = conclude(SUBJECT, held, sight, RULE, an_id())
        if concluded.transition is not None:
            if concluded.transition.is_notifiable:
                toggles.append((index, concluded.transition.after.is_open))
            held = Condition(concluded.transition.after, look.at)
        if held is not None:
            held = Condition(held.state, held.since, concluded.turning_since)

    assert toggles == plain_model(series)
