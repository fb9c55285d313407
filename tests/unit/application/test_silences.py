"""Silences as people ask for them: a matcher of rules has to name some that are in force."""

from __future__ import annotations

import pytest

from dashboard.application.context import ApplicationContext
from dashboard.application.silences import Silences
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.access import Actor
from dashboard.errors import InputError
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT

RULE = MatchedProperty.RULE


@pytest.fixture
def ask(empty_store: Store) -> Silences:
    """Ask of a store in which the default rules are in force."""
    return Silences(ApplicationContext(empty_store, (), lambda: A_MOMENT))


@pytest.mark.parametrize("text", ["rule=nosuch", "rule!=nosuch", "rule=~nosuch*", "rule!~*nosuch"])
def test_matcher_of_a_rule_that_is_not_in_force_is_refused_with_those_that_are(
    ask: Silences, text: str
) -> None:
    with pytest.raises(InputError, match="names no rule that is in force: there are rejections, "):
        ask.read_matchers(["module=HUB", text])


def test_matchers_of_rules_in_force_are_read(ask: Silences) -> None:
    assert ask.read_matchers(["rule=Busy", "rule!~change*"]) == (
        Matcher(RULE, "Busy"),
        Matcher(RULE, "change*", is_equal=False, is_pattern=True),
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (99, "no silence 99 is active or planned"),
        (10**22, "'10000000000000000000000' has more than 64 bits and so names nothing here"),
    ],
)
def test_number_of_no_silence_is_refused(ask: Silences, number: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask.end(SilenceKind.SILENCE, number, Actor("Ada", A_MOMENT))
