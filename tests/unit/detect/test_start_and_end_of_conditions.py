"""A condition is held until the opposite was seen for long enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.detect.start_and_end_of_conditions import Conclusion, ConditionRules, conclude
from dashboard.domain.alerts.condition import (
    Condition,
    Reading,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.busy_spells import HoldPeriods
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


def concluded(before: Condition | None, reading: Reading | None) -> Conclusion:
    return conclude(SUBJECT, before, reading, RULE, an_id())


@pytest.mark.parametrize("is_trouble", [True, False])
def test_subject_of_which_nothing_was_held_begins_without_an_incident(*, is_trouble: bool) -> None:
    found = concluded(None, seen(0, is_trouble=is_trouble))

    assert found.transition == Transition(
        an_id(), SUBJECT, None, State.ANSWERING, A_MOMENT, GROUNDS, A_MOMENT
    )
    assert found.turning_since == (A_MOMENT if is_trouble else None)


def test_trouble_that_lasted_long_enough_opens_an_incident_at_once() -> None:
    sight = seen(60, is_trouble=True, since=0)

    assert concluded(None, sight).transition == Transition(
        an_id(), SUBJECT, None, State.SILENT, sight.at, GROUNDS, A_MOMENT
    )


@pytest.mark.parametrize(
    ("state", "after", "turns"),
    [
        (State.ANSWERING, 59.999, False),
        (State.ANSWERING, 60, True),
        (State.ANSWERING, 3600, True),
        (State.SILENT, 299.999, False),
        (State.SILENT, 300, True),
    ],
)
def test_incident_opens_and_ends_once_the_opposite_was_seen_for_its_period(
    state: State, after: float, *, turns: bool
) -> None:
    found = concluded(pending(state, 0), seen(after, is_trouble=not state.is_open))

    assert (found.transition is not None) is turns
    assert found.turning_since == (None if turns else A_MOMENT)


@pytest.mark.parametrize(
    ("noted", "reading", "turning_since"),
    [
        (0, seen(70, is_trouble=True, since=50), 50),  # a known beginning counts more
        (7200, seen(0, is_trouble=True), 0),  # the clock was set back
    ],
)
def test_waiting_counts_from_the_beginning_of_trouble_or_from_now(
    noted: float, reading: Reading, turning_since: float
) -> None:
    found = concluded(pending(State.ANSWERING, noted), reading)

    assert found.transition is None
    assert found.turning_since == A_MOMENT + seconds(turning_since)


def test_beginning_after_the_sight_itself_does_not_hinder_the_waiting() -> None:
    first = concluded(CALM, seen(0, is_trouble=True, since=7200))
    waiting = Condition(State.ANSWERING, A_MOMENT, first.turning_since)

    assert first.turning_since == A_MOMENT
    assert concluded(waiting, seen(60, is_trouble=True, since=7200)).transition is not None


RULES = ConditionRules()


@pytest.mark.parametrize(
    ("kind", "opened", "rule"),
    [
        (SubjectKind.BUSYNESS, State.BUSY, RULES.busy),
        (SubjectKind.FEES, State.STALE, RULES.staleness),
        (SubjectKind.GAS_API, State.SILENT, RULES.outage),
        (SubjectKind.EXCLUSION_API, State.SILENT, RULES.outage),
        (SubjectKind.DISK, State.LOW_ON_SPACE, RULES.outage),
    ],
)
def test_each_kind_has_a_state_for_trouble_and_a_rule(
    kind: SubjectKind, opened: State, rule: HoldPeriods
) -> None:
    sight = Reading(is_trouble=True, at=A_MOMENT, since=A_MOMENT - timedelta(days=1))

    found = conclude(Subject(kind, A_NETWORK), None, sight, RULES.of(kind), an_id())

    assert RULES.of(kind) is rule
    assert found.transition is not None
    assert found.transition.after is opened
    assert opened.is_open


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


@dataclass(frozen=True)
class Visit:
    """One visit to a subject: when, and whether there was trouble; None: it could not be seen."""

    at: datetime
    is_trouble: bool | None


@st.composite
def visits(draw: st.DrawFn) -> list[Visit]:
    """Draw visits in order of time, some at the same time, some days apart."""
    gaps = draw(st.lists(st.sampled_from([0, 1, 4, 30, 59, 60, 61, 299, 300, 90_000]), max_size=40))
    at = A_MOMENT
    drawn = []
    for gap in gaps:
        at += seconds(gap)
        drawn.append(Visit(at, draw(st.sampled_from([True, True, False, False, None]))))
    return drawn


def plain_model(series: Sequence[Visit]) -> list[tuple[int, bool]]:
    """Return at which visits an incident opens (True) or closes, each time reading back over all.

    It toggles at a visit where the opposite was seen at every visit back to one that is old
    enough, none of them before the last toggle.
    """
    is_open, since_toggle, toggles = False, 0, []
    for index, visit in enumerate(series):
        wait = RULE.keep_firing if is_open else RULE.pending
        for start in range(index, since_toggle - 1, -1):
            if series[start].is_trouble is not (not is_open):
                break
            if visit.at - series[start].at >= wait:
                is_open, since_toggle = not is_open, index + 1
                toggles.append((index, is_open))
                break
    return toggles


@given(visits())
def test_any_series_opens_and_closes_where_the_plain_model_does(series: list[Visit]) -> None:
    held: Condition | None = None
    toggles = []
    for index, visit in enumerate(series):
        sight = None if visit.is_trouble is None else Reading(visit.is_trouble, visit.at)
        found = concluded(held, sight)
        if found.transition is not None:
            if found.transition.is_notifiable:
                toggles.append((index, found.transition.after.is_open))
            held = Condition(found.transition.after, visit.at)
        if held is not None:
            held = Condition(held.state, held.since, found.turning_since)

    assert toggles == plain_model(series)
