"""What a rule takes, and whom it notifies, is said in words."""

from __future__ import annotations

import pytest

from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.notification import Recipient
from dashboard.domain.rule import Rule, RuleKind, RuleScope
from dashboard.domain.rule_changes import RuleDifference
from dashboard.domain.rule_text import (
    differences_in_words,
    recipients_in_words,
    scope_in_words,
)
from tests.builders import A_NETWORK


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("a", RuleKind.BUSY), "all"),
        (Rule("a", RuleKind.REJECTED), "tracked"),
        (
            Rule(
                "a",
                RuleKind.REJECTED,
                scope=RuleScope(
                    networks=(A_NETWORK,),
                    modules=("HUB", "ADD"),
                    stages=(RejectionStage.RPC,),
                    takes_all_reports=True,
                ),
            ),
            "all reports; on net 424242; module HUB or ADD; stage RPC",
        ),
    ],
    ids=["busy", "rejected", "narrowed"],
)
def test_scope_is_said_in_words(rule: Rule, words: str) -> None:
    assert scope_in_words(rule, lambda number: f"net {number}") == words


def test_recipients_are_named_as_in_a_file() -> None:
    pager = (Recipient("mail", "a@example.org"), Recipient("webhook", "pager"))

    assert recipients_in_words(pager) == "a@example.org, webhook:pager"
    assert recipients_in_words(()) == "recipients of [mail]"


@pytest.mark.parametrize(
    ("difference", "lines"),
    [
        (RuleDifference("a", {"kind": "busy"}, None), ["- a is removed"]),
        (
            RuleDifference("a", None, {"kind": "busy", "modules": ["HUB"]}),
            ["+ a is added", "    kind = busy", '    modules = ["HUB"]'],
        ),
        (
            RuleDifference("a", {"enabled": False}, {"pending": "9s"}),
            ["~ a is changed", "    enabled: false → none", "    pending: none → 9s"],
        ),
    ],
    ids=["removed", "added", "changed"],
)
def test_difference_is_said_key_by_key(difference: RuleDifference, lines: list[str]) -> None:
    assert differences_in_words(difference) == lines
