"""What a rule takes, whom it notifies, and what an edit changes of it, in words."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.alerts.condition import Signal
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
from tests.builders import A_MOMENT, A_NETWORK
from tests.golden_texts import GoldenTexts

PAGER = (Recipient("webhook", "pager"),)
NARROW = RuleScope(
    networks=(A_NETWORK,),
    modules=("HUB", "ADD"),
    stages=(RejectionStage.RPC,),
    takes_all_reports=True,
)
RULES = {
    "busy": Rule("a", RuleKind.BUSY),
    "narrowed": Rule("a", RuleKind.REJECTED, scope=NARROW),
    "escalating": Rule(
        "a",
        RuleKind.REJECTED,
        remind_every=timedelta(minutes=30),
        escalate_after=timedelta(minutes=45),
        escalate_to=PAGER,
    ),
    "rate": Rule(
        "a",
        RuleKind.REJECTION_RATE,
        measure=RateMeasure(5, timedelta(minutes=10), Dimension.MODULE),
    ),
    "fee": Rule(
        "a",
        RuleKind.FEE,
        measure=FeeMeasure(Signal.BASE_FEE, Wei(3 * 10**9), is_upper=False),
        pending=timedelta(minutes=5),
        active_hours=ActiveHours((WeekSpan.parse("Mon-Fri 08:00-18:00"),), "UTC"),
    ),
    "credits": Rule(
        "a", RuleKind.CREDITS_SHORT, measure=CreditMeasure(9_000, BudgetPeriod.DAY, 80)
    ),
    "ending": Rule("a", RuleKind.REJECTED, until=A_MOMENT),
    "expiry": Rule("a", RuleKind.EXPIRY, measure=ExpiryMeasure(timedelta(days=14))),
}
DIFFERENCES = {
    "removed": RuleDifference("a", {"kind": "busy"}, None),
    "added": RuleDifference("a", None, {"kind": "busy", "modules": ["HUB"]}),
    "changed": RuleDifference("a", {"enabled": False}, {"pending": "9s"}),
}


def test_rules_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    def name(network_id: object) -> str:
        return f"net {network_id}"

    texts = {
        title: [rule_in_words(rule, name), f"It takes: {scope_in_words(rule, name)}"]
        for title, rule in RULES.items()
    }

    golden.check(
        "rules", texts | {title: differences_in_words(each) for title, each in DIFFERENCES.items()}
    )


def test_recipients_are_named_as_in_a_file() -> None:
    assert recipients_in_words((Recipient("mail", "a@example.org"), *PAGER)) == (
        "a@example.org, webhook:pager"
    )
    assert recipients_in_words(()) == "the default recipients"
