"""What lasts is worded for every kind of condition that is held."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.application.text import since_when
from dashboard.detect.start_and_end_of_conditions import ConditionRules, conclude
from dashboard.domain.alerts.condition import Condition, Reading, State, Subject, SubjectKind
from tests.builders import A_MOMENT, A_NETWORK, an_id, seconds

ELSEWHERE = {SubjectKind.TRANSACTION, SubjectKind.INCLUSION, SubjectKind.BUSYNESS}
ELSEWHERE |= {SubjectKind.DIGEST}  # it is no condition
ELSEWHERE |= {SubjectKind.LINE_LIMITS}  # they end at once
HELD = [each for each in SubjectKind if each not in ELSEWHERE]


@pytest.mark.parametrize("is_trouble", [True, False])
@pytest.mark.parametrize("kind", HELD)
def test_state_that_is_about_to_end_is_worded(kind: SubjectKind, *, is_trouble: bool) -> None:
    rules, subject = ConditionRules(), Subject(kind, A_NETWORK)
    long_ago = A_MOMENT - timedelta(hours=1)
    sight = Reading(is_trouble, A_MOMENT, since=long_ago)
    began = conclude(subject, None, sight, rules.of(kind), an_id()).transition
    assert began is not None
    held = Condition(began.after, A_MOMENT, A_MOMENT + seconds(10))

    said = since_when(held, rules.of(kind), A_MOMENT + seconds(20))

    assert said.startswith("since 12:00:00 UTC; ")
    assert "for 10 s, " in said


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.CALM, "above the threshold for 10 s, busy at 12:01:10 UTC if that lasts"),
        (State.UNKNOWN, "beyond the threshold for 10 s, certain at 12:01:10 UTC if that lasts"),
        (State.BUSY, "at or below the threshold for 10 s, over at 12:05:10 UTC if that lasts"),
    ],
)
def test_spell_that_is_not_certain_yet_is_worded(state: State, said: str) -> None:
    held = Condition(state, A_MOMENT, A_MOMENT + seconds(10))

    found = since_when(held, ConditionRules().busy, A_MOMENT + seconds(20))

    assert found == f"since 12:00:00 UTC; {said}"
