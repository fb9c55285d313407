"""Which rules a change concerns, and whom they notify."""

from __future__ import annotations

from datetime import timedelta

from dashboard.detect.routing import routes_of
from dashboard.domain.condition import State
from dashboard.domain.notification import Recipient
from dashboard.domain.route import RuleRoute
from dashboard.domain.rule import DEFAULT_RULES, ObservedChange, Rule, RuleKind, Severity
from tests.builders import A_NETWORK, a_rejection, a_transition

ONCALL = Recipient("mail", "oncall@example.org")
OTHERS = Recipient("mail", "others@example.org")
REJECTED = ObservedChange(a_transition(), a_rejection())


def test_everyone_is_notified_of_a_rejection_by_the_default_rules() -> None:
    (route,) = routes_of(DEFAULT_RULES, REJECTED, [ONCALL, OTHERS])

    assert route == RuleRoute(
        "rejections",
        (("network", str(A_NETWORK)), ("module", "ADD"), ("stage", "RPC")),
        (ONCALL, OTHERS),
    )


def test_nobody_is_notified_that_a_transaction_is_not_reported() -> None:
    change = ObservedChange(a_transition(after=State.UNREPORTED))

    assert routes_of(DEFAULT_RULES, change, [ONCALL]) == ()


def test_each_rule_that_fits_says_whom_to_notify_and_how() -> None:
    rules = [
        Rule("all", RuleKind.REJECTED),
        Rule(
            "mine",
            RuleKind.REJECTED,
            Severity.CRITICAL,
            recipients=(OTHERS,),
            group_by=(),
            group_wait=timedelta(minutes=1),
            pierces=True,
        ),
        Rule("busy", RuleKind.BUSY),
    ]

    everyone, mine = routes_of(rules, REJECTED, [ONCALL])

    assert everyone.recipients == (ONCALL,)
    assert mine == RuleRoute(
        "mine", (), (OTHERS,), "critical", timedelta(minutes=1), is_urgent=True
    )
