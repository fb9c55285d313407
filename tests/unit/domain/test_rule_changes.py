"""Rules are merged, replaced, added, changed and removed; what differs is said key by key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.rule import Rule, RuleScope, Severity
from dashboard.domain.alerts.rule_table import (
    RuleDifference,
    added,
    changed,
    differences,
    merged_with,
    removed,
    replaced_by,
    turned,
    why_closed,
)
from dashboard.domain.quantity import NetworkId
from dashboard.errors import InputError
from tests.builders import an_incident, seconds

BUSY = Rule("busy", RuleKind.BUSY)
STALE = Rule("stale", RuleKind.DATA_STALE)
LOUD = replace(BUSY, severity=Severity.CRITICAL, pending=seconds(90))


def test_merged_file_takes_the_place_of_rules_of_its_names() -> None:
    assert merged_with([LOUD])((BUSY, STALE)) == (LOUD, STALE)
    assert merged_with([STALE])((BUSY,)) == (BUSY, STALE)


def test_replacing_file_is_all_there_is() -> None:
    assert replaced_by([LOUD])((BUSY, STALE)) == (LOUD,)


def test_no_rule_at_all_is_refused_since_it_would_mean_the_default_ones() -> None:
    with pytest.raises(InputError, match="no rule would be left"):
        replaced_by([])((BUSY,))
    with pytest.raises(InputError, match="enabled=false"):
        removed(["busy"])((BUSY,))


def test_rule_is_added_once() -> None:
    assert added(STALE)((BUSY,)) == (BUSY, STALE)
    with pytest.raises(InputError, match="already"):
        added(LOUD)((BUSY,))


def test_one_rule_is_changed_and_the_others_stay() -> None:
    assert changed("busy", lambda _: LOUD)((BUSY, STALE)) == (LOUD, STALE)


@pytest.mark.parametrize(("name", "hint"), [("bussy", "did you mean busy?"), ("x", "there are")])
def test_unknown_rule_is_named_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint.replace("?", r"\?")):
        changed(name, lambda each: each)((BUSY, STALE))


def test_rule_is_turned_off_and_on() -> None:
    off = turned("busy", is_enabled=False)((BUSY, STALE))

    assert [each.is_enabled for each in off] == [False, True]
    assert turned("busy", is_enabled=True)(off) == (BUSY, STALE)


def test_rules_are_removed_by_name() -> None:
    assert removed(["busy"])((BUSY, STALE)) == (STALE,)


def test_difference_names_what_is_added_changed_and_removed() -> None:
    found = differences((BUSY, STALE), (LOUD, Rule("disk", RuleKind.DISK_FILLING)))

    assert [each.name for each in found] == ["busy", "disk", "stale"]
    assert list(found[0].lines()) == [
        ("severity", "warning", "critical"),
        ("pending", None, "90s"),
    ]
    assert (found[1].before, found[2].after) == (None, None)
    assert next(iter(found[1].lines())) == ("kind", None, "disk-filling")


def test_nothing_differs_where_an_edit_changes_nothing() -> None:
    assert differences((BUSY,), merged_with([BUSY])((BUSY,))) == []
    assert list(RuleDifference("busy", None, None).lines()) == []


GROUPED = an_incident(group=(("network", "7"), ("module", "HUB"), ("stage", "RPC")))
OF_HUB = Rule("hub", RuleKind.REJECTED)


@pytest.mark.parametrize(
    ("tags", "why"), [(("payout", "new"), ""), (("new",), "its rule no longer covers this tag")]
)
def test_incident_of_several_tags_stays_while_its_rule_takes_one(
    tags: tuple[str, ...], why: str
) -> None:
    of_tags = an_incident(group=(("tag", "payout vip"),))

    assert why_closed(replace(OF_HUB, scope=RuleScope(tags=tags)), OF_HUB, of_tags) == why


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (None, "its rule was removed"),
        (replace(OF_HUB, is_enabled=False), "its rule was turned off"),
        (replace(OF_HUB, kind=RuleKind.CHANGED), "its rule reports something else now"),
        (replace(OF_HUB, group_by=(Dimension.LABEL,)), "its rule reports something else now"),
        (
            replace(OF_HUB, scope=RuleScope(networks=(NetworkId(8),))),
            "its rule no longer covers this network",
        ),
        (
            replace(OF_HUB, scope=RuleScope(modules=("ADD", "MUL"))),
            "its rule no longer covers this module",
        ),
        (replace(OF_HUB, scope=RuleScope(networks=(NetworkId(7),), modules=("HUB",))), ""),
        (replace(OF_HUB, scope=RuleScope(labels=("bot",)), severity=Severity.CRITICAL), ""),
    ],
)
def test_incident_is_closed_where_its_rule_no_longer_reports_it(
    after: Rule | None, why: str
) -> None:
    assert why_closed(after, OF_HUB, GROUPED) == why
