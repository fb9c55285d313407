"""What a rule takes, and whom it notifies, is said in words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod, CreditMeasure
from dashboard.domain.alerts.kinds.expiry import ExpiryMeasure
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.alerts.rule_table import RuleDifference
from dashboard.domain.alerts.rule_text import (
    differences_in_words,
    recipients_in_words,
    rule_in_words,
    scope_in_words,
)
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.quantity import Wei
from dashboard.domain.rejections.exclusion import RejectionStage
from tests.builders import A_NETWORK


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("a", RuleKind.BUSY), "all"),
        (Rule("a", RuleKind.REJECTED), "tracked transactions only"),
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
            "all that nodes report; on net 424242; module HUB or ADD; stage RPC",
        ),
    ],
    ids=["busy", "rejected", "narrowed"],
)
def test_scope_is_said_in_words(rule: Rule, words: str) -> None:
    assert scope_in_words(rule, lambda number: f"net {number}") == words


PAGER = (Recipient("webhook", "pager"),)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("a", RuleKind.BUSY), "When a network is busy: notify recipients of [mail]."),
        (
            Rule(
                *("a", RuleKind.REJECTED),
                remind_every=timedelta(minutes=30),
                escalate_after=timedelta(minutes=45),
                escalate_to=PAGER,
            ),
            (
                "When a transaction is rejected for the first time "
                "(tracked transactions only): notify recipients of [mail]; "
                "remind every 30 min; after 45 min escalate to webhook:pager."
            ),
        ),
        (
            Rule(
                *("a", RuleKind.REJECTION_RATE),
                measure=RateMeasure(5, timedelta(minutes=10), Dimension.MODULE),
            ),
            (
                "When more than 5 rejections of one module arrive within 10 min "
                "(tracked transactions only): notify recipients of [mail]."
            ),
        ),
        (
            Rule(
                *("a", RuleKind.FEE),
                measure=FeeMeasure(Signal.BASE_FEE, Wei(3 * 10**9), is_upper=False),
                pending=timedelta(minutes=5),
                active_hours=ActiveHours((WeekSpan.parse("Mon-Fri 08:00-18:00"),), "UTC"),
            ),
            (
                "When the base fee is below 3gwei, for 5 min at least: notify recipients of "
                "[mail]; only mon-fri 08:00-18:00 (UTC), held otherwise."
            ),
        ),
        (
            Rule(
                *("a", RuleKind.CREDITS_SHORT), measure=CreditMeasure(9_000, BudgetPeriod.DAY, 80)
            ),
            "When 80 % of 9,000 credits a day are spent: notify recipients of [mail].",
        ),
        (
            Rule("a", RuleKind.EXPIRY, measure=ExpiryMeasure(timedelta(days=14))),
            "When a key or a certificate expires within 14 days: notify recipients of [mail].",
        ),
    ],
    ids=["busy", "escalating", "rate", "fee", "credits", "expiry"],
)
def test_rule_is_one_sentence(rule: Rule, words: str) -> None:
    assert rule_in_words(rule, lambda number: f"net {number}") == words


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
            ["~ a is changed", "    enabled: false → default", "    pending: default → 9s"],
        ),
    ],
    ids=["removed", "added", "changed"],
)
def test_difference_is_said_key_by_key(difference: RuleDifference, lines: list[str]) -> None:
    assert differences_in_words(difference) == lines
