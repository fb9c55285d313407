"""Rules are changed by pages and commands: no more of them than a worker can look at."""

from __future__ import annotations

import pytest

from dashboard.application.context import QueryContext
from dashboard.application.rules import MOST_RULES, RuleQueries
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule, RuleKind
from dashboard.domain.alerts.rule_table import replaced_by
from dashboard.domain.people.access import Actor
from dashboard.errors import InputError
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT


def test_thousands_of_rules_are_refused_and_nothing_changes(store: Store) -> None:
    queries = RuleQueries(QueryContext(store, (), lambda: A_MOMENT))
    many = replaced_by([Rule(f"r{each}", RuleKind.REJECTED) for each in range(MOST_RULES + 1)])

    with pytest.raises(InputError, match="these are 201 rules: keep at most 200"):
        queries.plan(many)
    with pytest.raises(InputError, match="keep at most 200"):
        queries.change(many, Actor("Ada", A_MOMENT))

    assert [each.rule for each in queries.in_force()] == list(DEFAULT_RULES)
