"""Rules are those that people stored, in their order, or the default ones."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule, RuleScope, Severity
from dashboard.domain.people.access import Actor, Way
from dashboard.errors import SchemaMismatch
from dashboard.store.alerts.rules import (
    RemovedRule,
    StoredRule,
    note_file,
    read_removed,
    read_rules,
    rules_in_force,
    save_rules,
)
from dashboard.store.engine.engine import Store
from dashboard.store.schema import rules
from tests.builders import A_MOMENT, A_NETWORK, seconds

ANA = Actor("ana", A_MOMENT)
BEN = Actor("ben", A_MOMENT + seconds(9))
BUSY = Rule("busy", RuleKind.BUSY, scope=RuleScope(networks=(A_NETWORK,)))
ODD = Rule("odd", RuleKind.REJECTED, scope=RuleScope(labels=("a\0 = \u202e'\"\\",)))


def test_store_without_rules_has_the_default_ones(store: Store) -> None:
    with store.read() as connection:
        assert rules_in_force(connection) == DEFAULT_RULES
        assert read_rules(connection)[0] == StoredRule(DEFAULT_RULES[0])


def test_each_rule_names_who_changed_it_last(store: Store) -> None:
    loud = replace(BUSY, severity=Severity.CRITICAL)
    with store.write() as connection:
        save_rules(connection, [ODD, BUSY], ANA)
        save_rules(connection, [loud, ODD], BEN)
        found = read_rules(connection)

    assert found == (
        StoredRule(loud, BEN.at, BEN.name),
        StoredRule(ODD, ANA.at, ANA.name),
    )


def test_rule_says_where_it_was_changed_and_a_file_that_says_the_same_counts(
    store: Store,
) -> None:
    by = replace(ANA, way=Way.PAGE)
    with store.write() as connection:
        save_rules(connection, [ODD, BUSY], by)
        before = read_rules(connection)
        note_file(connection, [ODD.name])
        save_rules(connection, [BUSY, ODD], replace(BEN, way=Way.API))
        after = read_rules(connection)

    assert before == tuple(StoredRule(each, by.at, by.name, Way.PAGE) for each in (ODD, BUSY))
    assert after == (
        StoredRule(BUSY, by.at, by.name, Way.PAGE),
        StoredRule(ODD, by.at, by.name, Way.FILE),
    )


def test_removed_rule_is_noted_until_it_is_back_or_a_file_is_imported(store: Store) -> None:
    with store.write() as connection:
        save_rules(connection, [BUSY], ANA)
        gone = {each.name for each in read_removed(connection)}
        save_rules(connection, [], BEN)
        [busy] = [each for each in read_removed(connection) if each.name == "busy"]
        save_rules(connection, [BUSY, ODD], ANA)
        rest = {each.name for each in read_removed(connection)}
        note_file(connection, [ODD.name])
        after = read_removed(connection)

    assert gone == {each.name for each in DEFAULT_RULES} - {"busy"}
    assert busy == RemovedRule("busy", BEN.at, BEN.name)
    assert rest == gone
    assert after == []


def test_default_rule_that_nobody_changed_names_nobody(store: Store) -> None:
    with store.write() as connection:
        save_rules(connection, [*DEFAULT_RULES, ODD], ANA)
        found = read_rules(connection)

    assert found == (*map(StoredRule, DEFAULT_RULES), StoredRule(ODD, ANA.at, ANA.name))


def test_rule_that_this_version_cannot_read_is_named(store: Store) -> None:
    with store.write() as connection:
        save_rules(connection, [BUSY], ANA)
        connection.execute(update(rules).values(body={"kind": "moon phase"}))

    with store.read() as connection, pytest.raises(SchemaMismatch, match="stored rule busy"):
        rules_in_force(connection)
